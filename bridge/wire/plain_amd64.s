#include "textflag.h"

DATA flip<>+0(SB)/8, $0x0202020202020202
DATA flip<>+8(SB)/8, $0x0202020202020202
GLOBL flip<>(SB), RODATA|NOPTR, $16
DATA most<>+0(SB)/8, $0x2121212121212121
DATA most<>+8(SB)/8, $0x2121212121212121
GLOBL most<>(SB), RODATA|NOPTR, $16
DATA backslash<>+0(SB)/8, $0x5e5e5e5e5e5e5e5e // '\\' with the bit flipped
DATA backslash<>+8(SB)/8, $0x5e5e5e5e5e5e5e5e
GLOBL backslash<>(SB), RODATA|NOPTR, $16

// STOPS sets the bytes of block, of 16 from addr on, to 0xff where special has its bits: as in special,
// flipping bit 1 moves the quote next to the controls, and bytes beyond ASCII are negative.
#define STOPS(addr, block, less) \
	MOVOU addr, block      \
	PXOR  X0, block        \
	MOVO  X1, less         \
	PCMPGTB block, less    \
	PCMPEQB X2, block      \
	POR   less, block

// func plain(b []byte, i int) int
TEXT ·plain(SB), NOSPLIT, $0-40
	MOVQ  b_base+0(FP), SI
	MOVQ  b_len+8(FP), CX
	MOVQ  i+24(FP), AX
	MOVOU flip<>(SB), X0
	MOVOU most<>(SB), X1
	MOVOU backslash<>(SB), X2
	SUBQ  $64, CX

blocks:
	CMPQ AX, CX
	JGT  rest
	STOPS(0(SI)(AX*1), X4, X5)
	STOPS(16(SI)(AX*1), X6, X7)
	STOPS(32(SI)(AX*1), X8, X9)
	STOPS(48(SI)(AX*1), X10, X11)
	POR  X6, X4
	POR  X10, X8
	POR  X8, X4
	PMOVMSKB X4, DX
	TESTL DX, DX
	JNZ  rest
	ADDQ $64, AX
	JMP  blocks

rest:
	ADDQ $48, CX

words:
	CMPQ AX, CX
	JGT  done
	STOPS(0(SI)(AX*1), X4, X5)
	PMOVMSKB X4, DX
	TESTL DX, DX
	JNZ  found
	ADDQ $16, AX
	JMP  words

found:
	BSFL DX, DX
	ADDQ DX, AX

done:
	MOVQ AX, ret+32(FP)
	RET

// func stops(b *[64]byte) uint64
TEXT ·stops(SB), NOSPLIT, $0-16
	MOVQ  b+0(FP), SI
	MOVOU flip<>(SB), X0
	MOVOU most<>(SB), X1
	MOVOU backslash<>(SB), X2
	STOPS(0(SI), X4, X5)
	STOPS(16(SI), X6, X7)
	STOPS(32(SI), X8, X9)
	STOPS(48(SI), X10, X11)
	PMOVMSKB X4, AX
	PMOVMSKB X6, BX
	PMOVMSKB X8, CX
	PMOVMSKB X10, DX
	SHLQ  $16, BX
	SHLQ  $32, CX
	SHLQ  $48, DX
	ORQ   BX, AX
	ORQ   CX, AX
	ORQ   DX, AX
	MOVQ  AX, ret+8(FP)
	RET
