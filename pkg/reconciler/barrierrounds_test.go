// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
)

// roundsTally is what became of the instances, and of the deletions.
type roundsTally struct {
	rounds, deleted, blocked            atomic.Int64
	created, denied, refused, destroyed atomic.Int64
}

func (r *roundsTally) String() string {
	return fmt.Sprintf("%d rounds: %d types deleted, %d deletions blocked meanwhile; %d instances created, %d denied by the barrier, %d refused for other reasons, %d destroyed",
		r.rounds.Load(), r.deleted.Load(), r.blocked.Load(), r.created.Load(), r.denied.Load(), r.refused.Load(), r.destroyed.Load())
}

// TestInstancesCreatedAtRandomMoments has others create instances at random moments of the deletion of their type. The deletion
// must not destroy an instance that was created. BARRIER_ROUNDS is the number of rounds (default 8), BARRIER_WORKERS the number
// of concurrent ones (default 4). With BARRIER_OFF=1 there are no barriers, and the test only counts what is destroyed.
func TestInstancesCreatedAtRandomMoments(t *testing.T) {
	t.Parallel()
	rounds, workers, off := number("BARRIER_ROUNDS", 8), number("BARRIER_WORKERS", 4), os.Getenv("BARRIER_OFF") != ""
	var tally roundsTally
	var group sync.WaitGroup
	next := make(chan int)
	for range workers {
		var options []option
		span := 2 * time.Second
		if off {
			span = 50 * time.Millisecond
			options = append(options, answering("/validatingadmissionpolicies/", http.StatusForbidden, metav1.StatusReasonForbidden))
		}
		ty := newTyped(t, append(options, func(s *setup) { s.pause = 200 * time.Millisecond })...)
		group.Go(func() {
			for range next {
				ty.round(&tally, span)
			}
		})
	}
	for i := range rounds {
		next <- i
	}
	close(next)
	group.Wait()
	t.Log(&tally)
	if destroyed := tally.destroyed.Load(); destroyed > 0 && !off {
		t.Errorf("%d instances were created, and destroyed", destroyed)
	}
}

func number(variable string, otherwise int) int {
	if value, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return value
	}
	return otherwise
}

// round defines the type, and deletes it again while others create instances.
func (ty *typed) round(tally *roundsTally, span time.Duration) {
	tally.rounds.Add(1)
	ty.mustApply(ty.expand(customType))
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "first")))
	ty.remove(ty.widget("first"))

	var creators sync.WaitGroup
	var mu sync.Mutex
	var created []string
	for i := range 1 + rand.IntN(3) {
		moment, name := time.Duration(rand.Int64N(int64(span))), fmt.Sprint("i", i)
		creators.Go(func() {
			time.Sleep(moment)
			err := ty.tryCreate(name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				created = append(created, name)
			case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "deletion-barrier-"):
				tally.denied.Add(1)
			default:
				tally.refused.Add(1)
			}
		})
	}
	idle := make(chan struct{})
	go func() {
		creators.Wait()
		close(idle)
	}()
	done := ty.deleteUntil(idle)
	tally.created.Add(int64(len(created)))
	if done {
		tally.deleted.Add(1)
		tally.destroyed.Add(int64(len(created)))
		return
	}
	tally.blocked.Add(1)
	for _, name := range created {
		if instance := ty.widget(name); instance == nil || instance.GetDeletionTimestamp() != nil {
			tally.destroyed.Add(1)
		} else {
			ty.remove(instance)
		}
	}
	ty.mustDelete()
}

// deleteUntil makes passes until all is deleted, or an instance keeps the type although no more are created. It reports which of
// the two it is.
func (ty *typed) deleteUntil(idle chan struct{}) (done bool) {
	var quiet bool
	testenv.Eventually(ty, func() (bool, string) {
		select {
		case <-idle:
			quiet = true
		default:
		}
		result, err := ty.delete()
		if err != nil {
			return false, err.Error()
		}
		waits := notices(result.Waits)
		done = result.Done
		return quiet && (done || strings.Contains(waits, kept)), waits
	})
	return done
}
