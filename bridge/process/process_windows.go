package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object. It holds each descendant of the child, and ends them all when its last
// handle is closed, also because this program was killed.
type group struct {
	cmd *exec.Cmd
	job windows.Handle
}

// startGroup starts the child and puts it in a job. Until then the child is suspended: a process that it
// started would escape the job, and a child that had already ended cannot be put in one.
func startGroup(cmd *exec.Cmd, _ string) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW | windows.CREATE_SUSPENDED,
	}
	if isBatch(cmd.Path) {
		line, err := batchLine(cmd.Path, cmd.Args[1:])
		if err != nil {
			return nil, err
		}
		system, err := windows.GetSystemDirectory()
		if err != nil {
			return nil, err
		}
		cmd.Path, cmd.SysProcAttr.CmdLine = filepath.Join(system, "cmd.exe"), line
	}
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	if err = cmd.Start(); err == nil {
		if err = assign(job, cmd.Process.Pid); err == nil {
			err = resumeProcess(cmd.Process.Pid)
		}
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	return &group{cmd: cmd, job: job}, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, os.NewSyscallError("SetInformationJobObject", err)
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	// os.Process holds a handle, so the id is still this process's.
	child, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer windows.CloseHandle(child)
	return os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(job, child))
}

// resumeProcess resumes the threads of a suspended process. It has one, and os/exec has closed its handle.
func resumeProcess(pid int) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(all)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := false
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID == uint32(pid) {
			if err := resumeThread(entry.ThreadID); err != nil {
				return err
			}
			resumed = true
		}
	}
	if !resumed {
		return os.NewSyscallError("Thread32Next", err)
	}
	return nil
}

func resumeThread(id uint32) error {
	thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, id)
	if err != nil {
		return os.NewSyscallError("OpenThread", err)
	}
	defer windows.CloseHandle(thread)
	_, err = windows.ResumeThread(thread)
	return os.NewSyscallError("ResumeThread", err)
}

// widen does nothing: a pipe's size is fixed when it is made.
func widen(*os.File) {}

func (g *group) awaitLeader() { _ = g.cmd.Wait() } // how it ended is in ProcessState

// terminate is the nearest equivalent of TERM. It reaches only processes that share our console;
// others are killed after their grace.
func (g *group) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.cmd.Process.Pid))
}

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

// alive returns false, so that the processes that outlive the leader are killed at once: without a
// console they cannot be asked to end.
func (g *group) alive() bool { return false }

func (g *group) reap() { windows.CloseHandle(g.job) }

// pending returns true: the job has ended every process that could hold the pipe, so that its end
// comes.
func pending(*os.File) bool { return true }

// signalName returns "": Windows has no signals.
func signalName(*os.ProcessState) string { return "" }

// supervisorCommand returns nil: a job object ends with its last handle.
func supervisorCommand(string) (*exec.Cmd, error) { return nil, nil }

// awaitChild does nothing.
func awaitChild(int) bool { return false }

func (Limits) set(int) error { return nil }
