#!/bin/sh
# SPDX-License-Identifier: MIT
# ffmpeg: hand-written vector code in encoders, decoders, filters and scalers, on frame and slice threads; checksums of every frame.
# needs: ffmpeg ffprobe
# sink: decode

ff() { $GAIT ffmpeg -nostdin -v error -bitexact -y "$@" 2>&1; }
sums() { ff -threads "$2" -i "$1" -f framemd5 -bitexact - | grep -v '^#' | cksum; }
video="-f lavfi -i testsrc2=size=352x288:rate=25:duration=1"
audio="-f lavfi -i sine=frequency=440:sample_rate=44100:duration=1"
fixed="-fflags +bitexact -flags:v +bitexact -flags:a +bitexact -map_metadata -1"

# shellcheck disable=SC2086 # options are words
{
    echo "-- sources and filters"
    ff $video -f framemd5 - | grep -v '^#' | cksum
    ff $video $audio -filter_complex '[0:v]scale=200:150:flags=lanczos+accurate_rnd+bitexact,hue=h=60,boxblur=2,transpose=1,format=yuv444p[v];[1:a]volume=0.5,atempo=1.25,aresample=48000:resampler=swr[a]' \
        -map '[v]' -map '[a]' -f framemd5 - | grep -v '^#' | cut -d, -f 1-5 | cksum
    ff $video -vf 'yadif,unsharp,eq=contrast=1.2,rotate=0.3,format=rgb24' -sws_flags bitexact -f framemd5 - | grep -v '^#' | cksum
    echo "-- encode and decode"
    for codec in "mpeg4 -qscale:v 5" "mpeg2video -qscale:v 4 -threads 2" ffv1 "mjpeg -qscale:v 3 -pix_fmt yuvj420p" "libx264 -preset fast -threads 2 -x264-params deterministic=1" "libx265 -preset ultrafast -x265-params pools=2:frame-threads=1:log-level=none" \
        "libvpx-vp9 -cpu-used 8 -deadline good -threads 2 -b:v 300k" huffyuv png; do
        name=${codec%% *}
        ff $video -sws_flags bitexact $fixed -c:v $codec out.mkv
        echo "$name $? $(sums out.mkv 1) threads: $(sums out.mkv 4)"
    done
    for codec in pcm_s16le aac flac "libmp3lame -b:a 128k" libvorbis "libopus -ar 48000"; do
        ff $audio $fixed -c:a $codec out.mka
        echo "${codec%% *} $? $(ff -i out.mka -f framecrc - | grep -v '^#' | wc -l)"
    done
    ff $audio $fixed -c:a flac out.flac
    sums out.flac 1
    echo "-- together, seeking, errors, an interrupt"
    ff $video $audio $fixed -c:v mpeg4 -c:a pcm_s16le -shortest both.avi
    $GAIT ffprobe -v error -show_entries stream=codec_name,width,height,sample_rate,nb_frames -of csv both.avi
    ff -ss 0.5 -i both.avi -frames:v 3 -f framemd5 - | grep -v '^#'
    head -c 20000 both.avi >broken.avi
    $GAIT ffmpeg -nostdin -v quiet -i broken.avi -f null - ; echo "broken $?"
    $GAIT ffmpeg -nostdin -v quiet -i missing.avi -f null - ; echo "missing $?"
}
$GAIT sh -c 'echo $$ >pid; exec ffmpeg -nostdin -v quiet -y -re -f lavfi -i testsrc2=size=64x64:rate=25 -c:v mpeg4 live.avi' & ff=$!
until [ -s live.avi ]; do sleep 0.1; done
kill -INT "$(cat pid)"
wait $ff
echo "interrupted $?"
ffprobe -v error -show_entries stream=codec_name -of csv live.avi
