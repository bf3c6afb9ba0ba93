package process

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Memory returns the resident bytes of all processes by their ids, and of each with its descendants.
// What is not known is missing. Memory that processes share counts for each.
func Memory() (processes, groups map[int]int64) {
	processes, groups = map[int]int64{}, map[int]int64{}
	all := map[uintptr]*windows.SYSTEM_PROCESS_INFORMATION{}
	for list := processList(); len(list) >= int(unsafe.Sizeof(windows.SYSTEM_PROCESS_INFORMATION{})); {
		info := (*windows.SYSTEM_PROCESS_INFORMATION)(unsafe.Pointer(&list[0]))
		all[info.UniqueProcessID] = info
		if info.NextEntryOffset == 0 {
			break
		}
		list = list[info.NextEntryOffset:]
	}
	for pid, info := range all {
		size := int64(info.WorkingSetSize)
		processes[int(pid)] = size
		for info != nil {
			groups[int(info.UniqueProcessID)] += size
			parent := all[info.InheritedFromUniqueProcessID]
			if parent != nil && parent.CreateTime >= info.CreateTime { // the parent has ended, and its id is another's
				parent = nil
			}
			info = parent
		}
	}
	return processes, groups
}

// processList returns what the system knows of all processes, nil if it does not tell.
func processList() []byte {
	for size := uint32(512 << 10); ; {
		list := make([]byte, size)
		var needed uint32
		err := windows.NtQuerySystemInformation(windows.SystemProcessInformation, unsafe.Pointer(&list[0]), size, &needed)
		switch {
		case errors.Is(err, windows.STATUS_INFO_LENGTH_MISMATCH):
			size = max(2*size, needed)
		case err != nil:
			return nil
		default:
			return list[:needed]
		}
	}
}
