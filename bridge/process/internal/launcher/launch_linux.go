package launcher

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// failed is the exit status of a launcher that could not start its program; standard error says why.
const failed = 126

// init becomes the program of a launcher. It does so before main, for the reason that the supervisor has.
func init() {
	if os.Args[0] == Name {
		err := launch()
		_, _ = os.Stderr.WriteString("sandbox: " + err.Error() + "\n")
		os.Exit(failed)
	}
}

// launch gives up what the order does not grant and executes its program. It returns only an error.
// What is given up is that of the thread: func init runs on one of its own, which is also the one that
// the program gets.
func launch() error {
	o, err := parse(os.Args)
	if err != nil {
		return err
	}
	filter, err := o.filter()
	if err != nil {
		return err
	}
	env := os.Environ()
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return named("close_range", err)
	}
	if err := o.join(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return named("no_new_privs", err)
	}
	if err := o.restrict(); err != nil {
		return err
	}
	if err := o.limit(); err != nil {
		return err
	}
	if err := install(filter); err != nil {
		return err
	}
	return named(o.Path, syscall.Exec(o.Path, o.Args, env)) // which also restores the limit of open files
}

func named(what string, err error) error { return errors.New(what + ": " + err.Error()) }

// Capabilities of a program that root starts: those that let it have files of other users, as root is
// used to in a container. All others go, and no_new_privs keeps them away.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return named("capget", err)
	}
	for i, keep := range []uint32{kept, 0} {
		data[i].Permitted &= keep
		data[i].Effective, data[i].Inheritable = data[i].Permitted, 0
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err := unix.Capset(&header, &data[0]); err != nil {
		return named("capset", err)
	}
	return nil
}

// join enters the cgroup.
func (o *Order) join() error {
	if o.Group == "" {
		return nil
	}
	f, err := os.OpenFile(o.Group+"/cgroup.procs", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("0") // this process
	return errors.Join(err, f.Close())
}

// limit sets the limits of resources, never above those that there are.
func (o *Order) limit() error {
	for _, l := range []struct {
		resource int
		max      uint64
		set      bool
	}{
		{unix.RLIMIT_CORE, 0, true}, // a dump of memory is a file outside
		{unix.RLIMIT_NPROC, o.Processes, o.Processes > 0},
		{unix.RLIMIT_DATA, o.Memory, o.Memory > 0},
	} {
		var old unix.Rlimit
		if !l.set {
			continue
		}
		err := unix.Prlimit(0, l.resource, nil, &old)
		if err == nil {
			most := min(l.max, old.Max)
			err = unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: most, Max: most}, nil)
		}
		if err != nil {
			return named("setrlimit", err)
		}
	}
	return nil
}
