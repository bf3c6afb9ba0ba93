// Package launcher is the process that gives up what a sandboxed program may not do, and then becomes
// that program. A program that imports this package becomes one when it is started as one, before its
// main.
//
// Files: launcher.go (what it is told), launch_linux.go (what it does), landlock_linux.go (files,
// TCP, signals), seccomp_linux.go with seccomp_linux_*.go (system calls).
package launcher

import (
	"errors"
	"strconv"
	"strings"
)

// Name is the first argument of a launcher.
const Name = "mcpbridge-sandbox"

// An Order is what a launcher is told to do.
type Order struct {
	Path string   // of the program, absolute
	Args []string // its arguments, with the name

	Read   []string // files, and folders with all below, that it may read and execute
	Write  []string // … and change
	Device []string // … read and write, but not execute

	Network   bool   // it may use IPv4 and IPv6
	Metadata  bool   // it may change modes, owners and times of files, wherever they are
	Group     string // the folder of a cgroup that it belongs to; "" leaves it where it is
	Processes uint64 // RLIMIT_NPROC; 0 leaves it
	Memory    uint64 // RLIMIT_DATA; 0 leaves it
}

// The letters that begin the arguments of a launcher, up to the program.
const (
	letterRead, letterWrite, letterDevice = 'r', 'w', 'd'
	letterNetwork, letterMetadata         = 'n', 'c'
	letterProcesses, letterBytes          = 'p', 'm'
	letterGroup                           = 'g'
	letterProgram                         = 'x' // its arguments follow
)

// Arguments returns the arguments of a launcher with this order, Name included.
func (o *Order) Arguments() []string {
	args := []string{Name}
	for _, paths := range []struct {
		letter byte
		paths  []string
	}{{letterRead, o.Read}, {letterWrite, o.Write}, {letterDevice, o.Device}} {
		for _, path := range paths.paths {
			args = append(args, string(paths.letter)+path)
		}
	}
	if o.Network {
		args = append(args, string(rune(letterNetwork)))
	}
	if o.Metadata {
		args = append(args, string(rune(letterMetadata)))
	}
	if o.Group != "" {
		args = append(args, string(rune(letterGroup))+o.Group)
	}
	if o.Processes > 0 {
		args = append(args, string(rune(letterProcesses))+strconv.FormatUint(o.Processes, 10))
	}
	if o.Memory > 0 {
		args = append(args, string(rune(letterBytes))+strconv.FormatUint(o.Memory, 10))
	}
	return append(append(args, string(rune(letterProgram))+o.Path), o.Args...)
}

// parse is the inverse of Arguments.
func parse(args []string) (o Order, err error) {
	for i, arg := range args[1:] {
		if arg == "" {
			break
		}
		switch value := arg[1:]; arg[0] {
		case letterRead:
			o.Read = append(o.Read, value)
		case letterWrite:
			o.Write = append(o.Write, value)
		case letterDevice:
			o.Device = append(o.Device, value)
		case letterNetwork:
			o.Network = true
		case letterMetadata:
			o.Metadata = true
		case letterGroup:
			o.Group = value
		case letterProcesses:
			o.Processes, err = strconv.ParseUint(value, 10, 64)
		case letterBytes:
			o.Memory, err = strconv.ParseUint(value, 10, 64)
		case letterProgram:
			o.Path, o.Args = value, args[i+2:]
			if strings.HasPrefix(value, "/") && len(o.Args) > 0 {
				return o, nil
			}
		}
		if err != nil {
			break
		}
	}
	return o, errors.New("not the arguments of a launcher")
}
