/* SPDX-License-Identifier: MIT */
/* Instructions that mix elements do not suppress faults: the whole operand is loaded. */
# needs: avx512bw avx512vbmi avx512cd gfni avx512_bf16
#include "case.h"
CASE
    mov eax, 0b0100
    kmovd k1, eax
    vpmaddwd zmm0{k1}, zmm0, [rip + data]   # expect: L data,64
    vpmaddubsw zmm0{k1}, zmm0, [rip + data] # expect: L data,64
    vdbpsadbw zmm0{k1}, zmm0, [rip + data], 0 # expect: L data,64
    vpmultishiftqb zmm0{k1}, zmm0, [rip + data] # expect: L data,64
    vpconflictd zmm0{k1}, [rip + data]      # expect: L data,64
    vgf2p8affineqb zmm0{k1}, zmm0, [rip + data], 0 # expect: L data,64
    vcvtne2ps2bf16 zmm0{k1}, zmm0, [rip + zeros] # expect: L zeros,64
END
