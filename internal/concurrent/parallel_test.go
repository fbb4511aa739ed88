// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestDo(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 64, 1000, 1001} {
		counts := make([]atomic.Int32, n)
		Do(n, func(i int) { counts[i].Add(1) })
		for i := range counts {
			if got := counts[i].Load(); got != 1 {
				t.Errorf("of %d, %d was done %d times", n, i, got)
			}
		}
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	early, late := errors.New("early"), errors.New("late")
	var running, most atomic.Int32
	first, release := make(chan struct{}), make(chan struct{})
	err := Each(3, make([]struct{}, 100), func(i int, _ struct{}) error {
		now := running.Add(1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
		}
		defer running.Add(-1)
		switch i {
		case 0:
			close(first)
			<-release
			return early
		case 1:
			<-first
			defer close(release)
			return late
		default:
			return nil
		}
	})
	if !errors.Is(err, early) {
		t.Errorf("want the error of the first item, got %v", err)
	}
	if most.Load() > 3 || running.Load() != 0 {
		t.Errorf("want at most 3 side by side, and all to be done, got %d, and %d still run", most.Load(), running.Load())
	}
	if err := Each(3, []string{"a", "b"}, func(int, string) error { return nil }); err != nil {
		t.Errorf("want no error, got %v", err)
	}

	begun := 0
	err = Each(1, make([]struct{}, 100), func(int, struct{}) error {
		begun++
		return early
	})
	if begun != 1 || !errors.Is(err, early) {
		t.Errorf("want nothing to begin after a failure, got %d and error %v", begun, err)
	}
}

// TestPanics has work panic, in the goroutine of the caller or in another one.
func TestPanics(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(work func(i int)){
		"Do": func(work func(i int)) { Do(100, work) },
		"Each": func(work func(i int)) {
			_ = Each(4, make([]struct{}, 100), func(i int, _ struct{}) error { work(i); return nil })
		},
	} {
		for at := range 100 {
			func() {
				defer func() {
					if caught := NewPanic(recover()); caught.Value != "a mistake" || !strings.HasPrefix(caught.Place, "concurrent/parallel_test.go:") {
						t.Errorf("%s: want the panic to reach the caller, got %v", name, caught)
					}
				}()
				run(func(i int) {
					if i == at {
						panic("a mistake")
					}
				})
			}()
		}
	}
}
