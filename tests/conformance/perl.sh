#!/bin/sh
# SPDX-License-Identifier: MIT
# perl: handlers that die, alarm, fork, interpreter threads, sockets, pack, sort and regular expressions; perl-* run its core tests.
# small
# needs: perl

cat >work.pl <<'PERL'
use strict;
use warnings;
use POSIX qw(:sys_wait_h :signal_h);
use Digest::SHA qw(sha256_hex);
use IO::Select;
use List::Util qw(reduce sum);
use Socket;
use Storable qw(freeze thaw);
use threads;
use threads::shared;
use Time::HiRes qw(setitimer ITIMER_REAL sleep);
$| = 1;
my $n = 0;

sub is {
    my ($got, $want, $what) = @_;
    printf "%s %d - %s%s\n", $got eq $want ? "ok" : "not ok", ++$n, $what, $got eq $want ? "" : " (got $got)";
}
sub child { my $code = shift; my $pid = fork // die; if (!$pid) { $code->(); POSIX::_exit(0) } $pid }

# -- operators
my %h;
$h{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 5000;
print sha256_hex(join ",", map { "$_=$h{$_}" } sort { $a <=> $b } keys %h), "\n";
is(join(",", sort { length $a <=> length $b or $a cmp $b } qw(pear fig apple kiwi)), "fig,kiwi,pear,apple", "sort");
is(unpack("H*", pack("NnCa3wFq>", 1, 2, 3, "xyz", 300, 1.5, -2)), "0000000100020378797a822c000000000000f83ffffffffffffffffe", "pack");
is(sprintf("%.15g|%e|%#x|%-5s|%05.1f|%vd", 0.1 + 0.2, 12345.678, 255, "ab", 2.25, v1.22.333), "0.3|1.234568e+04|0xff|ab   |002.2|1.22.333", "sprintf");
is((reduce { $a * $b } 1 .. 20), 2432902008176640000, "integers");
my $text = join " ", map { "word$_" x ($_ % 3 + 1) } 1 .. 400;
is(scalar(my @pairs = $text =~ /(?:^| )(\w+?\d+)\1/g), 267, "backreferences");
(my $doubled = $text) =~ s/(\d+)/$1 * 2/ge;
print sha256_hex($doubled), "\n";
is(scalar("((a)(b(c)))" =~ /^(\((?:[^()]|(?1))*\))$/), 1, "recursive pattern");
is("foobar" =~ /^(?<x>foo)(?=bar)(?{ 1 })/ && $+{x}, "foo", "named group");
is(lc("\x{130}X") eq "i\x{307}x", 1, "unicode");
is(thaw(freeze({ a => [1, { b => 2 }] }))->{a}[1]{b}, 2, "storable");
is(eval "1 +" // "undef", "undef", "syntax error");
sub deep { no warnings; my $d = shift; $d ? deep($d - 1) + 1 : 0 }
is(deep(5000), 5000, "recursion");
package Counter { sub TIESCALAR { my $c = 0; bless \$c } sub FETCH { ${ $_[0] }++ } sub DESTROY { print "destroyed\n" } }
{ tie my $c, "Counter"; is($c + $c + $c, 3, "tie") }
my @closures = map { my $k = $_; sub { $k++ } } 1 .. 3;
$closures[1]->();
is($closures[1]->(), 3, "closures");
sub named { (caller(0))[3] }
sub jump { goto &named }
is(jump(), "main::named", "goto");
sub thrower { die { code => 7 } }
is(eval { thrower(); 1 } // $@->{code}, 7, "die with a reference");

# -- signals
my @seen;
$SIG{USR1} = sub { push @seen, shift };
kill USR1 => $$ for 1 .. 5;
is("@seen", "USR1 USR1 USR1 USR1 USR1", "handlers");
is(eval { local $SIG{ALRM} = sub { die "alarm\n" }; setitimer(ITIMER_REAL, 0.1); 1 while 1 } // $@, "alarm\n", "a handler dies out of a loop");
is(eval { local $SIG{ALRM} = sub { die "alarm\n" }; setitimer(ITIMER_REAL, 0.1); select undef, undef, undef, 60 } // $@, "alarm\n", "and out of select");
my $ticks = 0;
$SIG{ALRM} = sub { $ticks++ };
setitimer(ITIMER_REAL, 0.005, 0.005);
my $work = 0;
while ($ticks < 20) { $work += $_ for 1 .. 100 }
setitimer(ITIMER_REAL, 0);
is($ticks >= 20, 1, "ticks");
my ($usr1, $old) = (POSIX::SigSet->new(SIGUSR1), POSIX::SigSet->new);
@seen = ();
sigprocmask(SIG_BLOCK, $usr1, $old);
kill USR1 => $$;
is("@{[scalar @seen]}", 0, "blocked");
sigprocmask(SIG_SETMASK, $old);
is("@{[scalar @seen]}", 1, "let through");
sigaction(SIGUSR2, POSIX::SigAction->new(sub { push @seen, "safe" }, POSIX::SigSet->new, SA_NODEFER));
kill USR2 => $$;
is($seen[-1], "safe", "sigaction");

# -- processes
my %code = map { my $k = $_; child(sub { POSIX::_exit($k) }) => $k } 1 .. 6;
my $right = 0;
while ((my $pid = wait) > 0) { $right += $? >> 8 == $code{$pid} }
is($right, 6, "wait");
my $sleeper = child(sub { sleep 60 });
kill TERM => $sleeper;
waitpid $sleeper, 0;
is($? & 127, 15, "killed");
is(system("sh", "-c", "exit 3") >> 8, 3, "system");
is(`echo out; kill -9 \$\$` . $?, "out\n9", "backticks");
my $reaped = 0;
$SIG{CHLD} = sub { $reaped++ while waitpid(-1, WNOHANG) > 0 };
child(sub { }) for 1 .. 10;
sleep 0.01 while $reaped < 10;
$SIG{CHLD} = "DEFAULT";
is(wait, -1, "all reaped by the handler");
pipe my $r, my $w;
child(sub { close $r; print $w "line $_\n" for 1 .. 2000; close $w });
close $w;
is(scalar(my @lines = <$r>), 2000, "pipe");
open my $sort, "|-", "sort -rn | head -n 2" or die;
print $sort "$_\n" for 1 .. 50;
close $sort;
is($?, 0, "popen");
socketpair my $s1, my $s2, AF_UNIX, SOCK_STREAM, PF_UNSPEC;
child(sub { close $s1; while (sysread $s2, my $b, 100) { syswrite $s2, uc $b } });
close $s2;
syswrite $s1, "hello";
my ($ready) = IO::Select->new($s1)->can_read(60);
sysread $ready, my $b, 100;
is($b, "HELLO", "sockets");
close $s1;
1 while wait > 0;
is((exec { "/no/such" } "x") ? "" : "none", "none", "exec fails");

# -- interpreter threads
my $shared : shared = 0;
my @threads = map { threads->create(sub { for (1 .. 100) { lock $shared; $shared++ } my %c = map { $_ => 1 } 1 .. 50; scalar keys %c }) } 1 .. 4;
is(sum(map { $_->join } @threads), 200, "threads");
is($shared, 400, "shared");
is(eval { threads->create(sub { die "in a thread\n" })->join; 1 }, 1, "a thread dies");
END { print "end $?\n" }
exit 9;
PERL
$GAIT perl work.pl 2>err
echo "status $?"
printf '3 x\n1 y\n2 z\n' | $GAIT perl -lane 'push @l, [@F]; END { print join " ", map { $_->[1] } sort { $a->[0] <=> $b->[0] } @l }'
echo text >edited; $GAIT perl -i.bak -pe 's/text/changed/' edited; cat edited edited.bak
$GAIT perl -e 'kill SEGV => $$; sleep 9'
echo "status $?"
