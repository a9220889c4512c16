#!/bin/sh
# SPDX-License-Identifier: MIT
# perl's core tests t/op: every operator. perl-process.sh has those that wait for children and signals.
# needs: perl
# sink: decode
. "$(dirname "$0")/perl_core"

# Left out: what takes more than half a second, and what needs a perl built in place.
for slow in alarm attrs closure cond coreamp dbm die_exit exec exp fork getppid goto_xs gv heredoc kvhslice lex lexsub list magic \
    readline runlevel sigdispatch sigsystem sleep smartmatch sprintf2 srand sselect stash stat threads tie time utf8cache write blocks; do
    rm "op/$slow.t"
done
core op/*.t
