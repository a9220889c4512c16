#!/bin/sh
# SPDX-License-Identifier: MIT
# perl's core tests t/re: the regular expression engine, by far its largest function.
# needs: perl
# sink: decode
. "$(dirname "$0")/perl_core"

# Left out: what takes more than a second, the second pass inside a thread, and tables made by perl's own build.
rm re/*_thr.t re/uniprops*.t re/fold_grind_*.t
for slow in anyof pat pat_psycho reg_email reg_fold regexp_notrie regexp_qr regexp_qr_embed speed pat_advanced; do
    rm "re/$slow.t"
done
core re/*.t
