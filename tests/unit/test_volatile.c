#include "translate/state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static u8 code[64]={0xb8,0xe8,3,0,0,0x85,0xc9};
static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n){(void)ctx; if(pc<0x7ffff7c00000||pc>=0x7ffff7c00000+64)return 0; n=MIN(n,0x7ffff7c00000+64-pc); memcpy(buf,code+(pc-0x7ffff7c00000),n); return n;}
static enum code_kind kind(void*c,u64 pc){(void)c;(void)pc;return CODE_VOLATILE;}
int main(void){
 u8*wire=mmap(NULL,WIRE_SIZE,3,MAP_PRIVATE|MAP_ANONYMOUS|MAP_NORESERVE,-1,0);
 struct translate_config c={.fetch=fetch,.kind=kind,.wire=wire,.base=0x555500000000ul,.jump=0x7f000000,.guest={0x555500000100,0x555500000200,0x555500000300,0x555500000400,0x555500000500,0x555500000600,0x555500000700,0x555500000800},.events=EVENTS_memory,.unit_insns=1,.no_ahead=true};
 struct translator*t=translator_new(&c); struct err e;
 u64 at=translate_pc(t,(struct app_pc){0x7ffff7c00000},BY_LINK,&e).v;
 FILE*f=fopen("/tmp/unit.bin","wb"); fwrite(wire+WIRE_CACHE_OFF+(at-t->cache),1,200,f); fclose(f);
 return 0;}
