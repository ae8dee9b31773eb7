// bcryptprimitives.dll of one function, which Windows has since 2012 and wine 8 lacks; Rust's standard library asks it for chance.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID to, ULONG n);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T n) { return SystemFunction036(to, (ULONG)n); }
