// The target that knows its own split (slices.h), as a Go program: its code is in no C library's hands, its
// names have dots and parentheses, and its threads are the runtime's.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	processClock = 2 // CLOCK_PROCESS_CPUTIME_ID
	threadClock  = 3 // CLOCK_THREAD_CPUTIME_ID
)

func nanoseconds(clock uintptr) uint64 {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0)
	return uint64(now.Nano())
}

//go:noinline
func spinAlpha(iterations uint64) uint64 {
	number := iterations
	for ; iterations > 0; iterations-- {
		number = number*3 ^ number>>7
	}
	return number
}

type wheel struct{ number uint64 }

//go:noinline
func (w *wheel) spinBeta(iterations uint64) uint64 {
	for ; iterations > 0; iterations-- {
		w.number = w.number*5 ^ w.number>>9
	}
	return w.number
}

type spin struct {
	name   string
	weight uint64
	run    func(uint64) uint64
	ns     uint64
	each   float64 // nanoseconds, as last seen
}

// Burns about so much of the thread's time in slices of 0.3 to 1 ms, of functions drawn at random.
func burn(spins []spin, budget uint64) {
	random := nanoseconds(1)*0x9e3779b97f4a7c15 | 1
	draw := func() uint64 {
		random ^= random >> 12
		random ^= random << 25
		random ^= random >> 27
		return random * 0x2545f4914f6cdd1d >> 16
	}
	start := nanoseconds(threadClock)
	for after := start; after-start < budget; {
		chosen := &spins[0]
		if draw()%100 >= chosen.weight {
			chosen = &spins[1]
		}
		slice := float64(300000 + draw()%700000)
		iterations := uint64(1000)
		if chosen.each > 0 {
			iterations = uint64(slice/chosen.each) + 1
		}
		before := nanoseconds(threadClock)
		chosen.run(iterations)
		after = nanoseconds(threadClock)
		chosen.ns += after - before
		chosen.each = float64(after-before)/float64(iterations)*0.5 + chosen.each*0.5
	}
}

func main() {
	runtime.LockOSThread()
	wheel := &wheel{1}
	spins := []spin{
		{name: "main.spinAlpha", weight: 70, run: spinAlpha},
		{name: "main.(*wheel).spinBeta", weight: 30, run: wheel.spinBeta},
	}
	fmt.Printf("ready %d\n", os.Getpid())
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	var seconds float64
	if _, scan := fmt.Sscanf(line, "go %g", &seconds); err != nil || scan != nil {
		os.Exit(70)
	}
	start := nanoseconds(processClock)
	burn(spins, uint64(seconds*1e9))
	named := uint64(0)
	for _, spin := range spins {
		fmt.Printf("split %s %d\n", spin.name, spin.ns)
		named += spin.ns
	}
	total := nanoseconds(processClock) - start
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	fmt.Printf("other %d\ntotal %d\n", total-named, total)
	fmt.Printf("rusage %d %d\n", usage.Utime.Nano()/1000, usage.Stime.Nano()/1000)
	for strings.Contains(line, "hold") {
		time.Sleep(time.Hour)
	}
}
