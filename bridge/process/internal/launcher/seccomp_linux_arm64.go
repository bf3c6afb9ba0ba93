package launcher

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// archNever and archMetadata are the calls of tables never and metadata that other architectures do
// not have.
var (
	archNever    = []uint32{unix.SYS_KEXEC_FILE_LOAD}
	archMetadata = []uint32{}
)
