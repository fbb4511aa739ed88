// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
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

func TestElapsed(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, test := range []struct {
		reason   string
		from, to time.Time
		want     time.Duration
	}{
		{"both clocks agree", start, start.Add(time.Minute), time.Minute},
		{"there is no monotonic clock", start.Round(0), start.Add(time.Hour).Round(0), time.Hour},
		{"while the machine was suspended, only the clock on the wall went on", start, diverging(t, start.Add(time.Hour), -59*time.Minute), time.Hour},
		{"the clock on the wall was set back", start, diverging(t, start, time.Minute), time.Minute},
	} {
		if got := Elapsed(test.from, test.to); got != test.want {
			t.Errorf("%s: want %s, got %s", test.reason, test.want, got)
		}
	}
}

// diverging returns a time whose monotonic clock differs from that of another one, while the clock on the wall agrees.
// No function of package time makes one.
func diverging(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	// fields are the first ones of a time; see there.
	type fields struct {
		wall      uint64
		monotonic int64
	}
	moved := at
	(*fields)(unsafe.Pointer(&moved)).monotonic += int64(by) //nolint:gosec // what comes of it is verified
	if moved.Sub(at) != by || !moved.Round(0).Equal(at.Round(0)) {
		t.Fatalf("package time has changed how it stores the monotonic clock: got %s instead of %s", moved.Sub(at), by)
	}
	return moved
}

func TestIsStandard(t *testing.T) {
	t.Parallel()
	for function, want := range map[string]bool{
		"regexp.MustCompile":                     true,
		"net/http.(*Client).Do":                  true,
		"main.generate":                          false,
		"main.(*shop).generate.func1":            false,
		"maintenance.Run":                        true,
		"github.com/example/shop/gen.Generate":   false,
		"example.io/shop.(*Generator).Generate":  false,
		"encoding/json.(*decodeState).unmarshal": true,
	} {
		if got := isStandard(function); got != want {
			t.Errorf("%s: want %t, got %t", function, want, got)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
