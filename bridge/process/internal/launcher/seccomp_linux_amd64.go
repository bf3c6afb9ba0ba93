package launcher

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// archNever and archMetadata are the calls of tables never and metadata that other architectures do
// not have.
var (
	archNever    = []uint32{unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD}
	archMetadata = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
)
