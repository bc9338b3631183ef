#include "textflag.h"

// func both(a, b unsafe.Pointer)
TEXT ·both(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), AX
	MOVQ b+8(FP), CX
	PREFETCHT0 (AX)
	PREFETCHT0 (CX)
	RET
