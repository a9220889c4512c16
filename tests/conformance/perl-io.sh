#!/bin/sh
# SPDX-License-Identifier: MIT
# perl's core tests t/io: files, layers, sockets, shared memory, semaphores, writes that signals interrupt.
# needs: perl
# sink: decode
. "$(dirname "$0")/perl_core"

# Left out: what pushes ten thousand blocks through pipes; io/pipe.t is in perl-process.sh.
rm io/through.t io/crlf_through.t io/pipe.t
core io/*.t
