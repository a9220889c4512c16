# SPDX-License-Identifier: MIT
# What Perl is used for: words, hashes, regular expressions, sorting, records, objects. usage: perl work.pl SIZE
use strict;
use warnings;

my $size = shift // 100;
my $seed = 12345;
sub rnd { $seed = ($seed * 1103515245 + 12345) & 0x7fffffff; return ($seed >> 8) % $_[0]; }

# A text of made-up words, counted and sorted.
my @parts = qw(ka lo mi ne tu ra so vi be do fe gu hy ji pa qu);
my $text = '';
for (1 .. $size * 60) {
    $text .= join('', map { $parts[rnd(16)] } 0 .. rnd(4));
    $text .= rnd(12) ? ' ' : ".\n";
}
my %count;
while ($text =~ /(\w+)/g) { $count{$1}++; }
my @top = (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 9];
print "$_ $count{$_}\n" for @top;

# Lines of a log, taken apart and summed.
my %bytes;
for my $i (1 .. $size * 25) {
    my $line = sprintf '10.0.%d.%d - [%02d:%02d:%02d] "GET /%s/%d.html HTTP/1.1" %d %d',
        rnd(4), rnd(256), rnd(24), rnd(60), rnd(60), $parts[rnd(16)], rnd(50), rnd(9) ? 200 : 404, rnd(99999);
    next unless $line =~ m{^(\d+(?:\.\d+){3}) .*?"(GET|POST) /(\w+)/\S+ HTTP/\d\.\d" (\d{3}) (\d+)$};
    $bytes{"$3/$4"}{$1} += $5;
}
for my $page (sort keys %bytes) {
    my $sum = 0;
    $sum += $_ for values %{ $bytes{$page} };
    print "$page ", scalar(keys %{ $bytes{$page} }), " $sum\n";
}

# Substitution, splitting and joining.
(my $changed = $text) =~ s/\b(\w)(\w*)\b/\u$1$2/g;
$changed =~ tr/a-m/n-z/;
my @lines = split /\n/, $changed;
@lines = map { join ',', reverse split / / } sort { length $a <=> length $b || $a cmp $b } @lines;
my $check = 0;
$check = ($check * 31 + ord($_) + length $_) % 1000003 for grep { length } @lines;
print "lines ", scalar(@lines), " check $check\n";

# Objects: a binary tree of accounts.
package Account;
sub new { my ($class, $key) = @_; return bless { key => $key, sum => 0, n => 0 }, $class; }
sub key { return $_[0]{key} }
sub add { my ($self, $x) = @_; $self->{sum} += $x; $self->{n}++; return $self; }

package Tree;
sub new { return bless { root => undef, size => 0 }, shift; }

sub find {
    my ($self, $key) = @_;
    my $at = \$self->{root};
    while ($$at) {
        my $have = $$at->{account}->key;
        return $$at->{account} if $have == $key;
        $at = $key < $have ? \$$at->{left} : \$$at->{right};
    }
    $self->{size}++;
    $$at = { account => Account->new($key), left => undef, right => undef };
    return $$at->{account};
}

package main;
my $tree = Tree->new;
$tree->find(main::rnd(5000))->add($_ % 97) for 1 .. $size * 40;
print "accounts $tree->{size}, first ", $tree->find(7)->{n}, "\n";

# Numbers: a sieve.
my $limit = $size * 250;
my @composite;
my $primes = 0;
for my $i (2 .. $limit) {
    next if $composite[$i];
    $primes++;
    for (my $j = $i * $i; $j <= $limit; $j += $i) { $composite[$j] = 1; }
}
print "primes $primes\n";
