// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// maxStreams is the maximum number of logs that are followed at once: each is a connection to a node.
	maxStreams = 100
	// reconnectDelay is the pause before reconnecting to a log.
	reconnectDelay = time.Second
)

// logFollower follows the logs of all pods of the release.
type logFollower struct {
	*logReader
	streams sync.WaitGroup

	known struct {
		sync.Mutex
		// begun are the runs that are or were followed; running are those whose container has not ended.
		begun, running map[run]bool
		active         int
		full           bool
	}
}

// followAll looks for pods again and again. Logs of pods that exist at the beginning start with the requested number of
// lines.
func (r *logReader) followAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &logFollower{logReader: r}
	f.known.begun = map[run]bool{}
	r.SkipReasons = true // no events are needed
	defer f.streams.Wait()
	defer cancel()
	first := true
	return follow(ctx, r.Options, r.note, func(looking context.Context) error {
		pods, err := f.pods(looking)
		if err != nil {
			return err
		}
		f.noteRunning(pods)
		for _, pod := range pods {
			for _, run := range f.runs(pod) {
				f.start(ctx, run, first)
			}
		}
		first = false
		return nil
	})
}

// start begins to follow a run that is not followed yet.
func (f *logFollower) start(ctx context.Context, run run, first bool) {
	if !f.begin(run) {
		return
	}
	options := &corev1.PodLogOptions{Container: run.container}
	if first {
		options = f.logOptions(run)
	}
	options.Follow, options.Timestamps = true, true
	f.streams.Go(func() {
		defer f.end()
		f.stream(ctx, run, options)
	})
}

// noteRunning records which runs continue, to distinguish a broken connection from the end of a log.
func (f *logFollower) noteRunning(pods []*corev1.Pod) {
	running := map[run]bool{}
	for _, pod := range pods {
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if pod.DeletionTimestamp == nil && c.State.Running != nil {
				running[runOf(pod, c)] = true
			}
		}
	}
	f.known.Lock()
	defer f.known.Unlock()
	f.known.running = running
}

func (f *logFollower) begin(run run) bool {
	f.known.Lock()
	defer f.known.Unlock()
	if f.known.begun[run] {
		return false
	}
	if f.known.active == maxStreams {
		if !f.known.full {
			f.known.full = true
			f.problem(fmt.Sprintf("%s and others are not followed: clm follows at most %d containers; name the objects whose logs are wanted", run, maxStreams))
		}
		return false
	}
	f.known.active++
	f.known.begun[run] = true
	return true
}

func (f *logFollower) end() {
	f.known.Lock()
	defer f.known.Unlock()
	f.known.active--
}

// stream follows one run to its end, and reconnects if necessary. It reports each reason that prevents reading once,
// and retries.
func (f *logFollower) stream(ctx context.Context, run run, options *corev1.PodLogOptions) {
	// last is the time of the latest line, shown that of the latest line before the connection broke.
	var last, shown time.Time
	failures := 0
	for {
		err := f.copy(ctx, run, options, func(line []byte) {
			at, text := splitTime(line)
			if !at.IsZero() && !at.After(shown) {
				return
			}
			if at.After(last) {
				last = at
			}
			f.write(run, text)
		})
		switch {
		case f.isOver(ctx, run, err):
			return
		case err == nil:
			failures = 0
		default:
			// A broken connection is normal; a failure to reconnect is reported.
			if failures++; failures == 2 {
				f.report(run, err)
			}
		}
		if shown = last; !shown.IsZero() {
			since := metav1.NewTime(last)
			options.SinceTime, options.TailLines = &since, nil
		}
		select {
		case <-time.After(reconnectDelay):
		case <-ctx.Done():
			return
		}
	}
}

// isOver reports whether nothing more can be read of a run whose connection has ended. It tells the user the reason if
// the run could not be read.
func (f *logFollower) isOver(ctx context.Context, run run, err error) bool {
	f.known.Lock()
	goesOn := f.known.running[run]
	f.known.Unlock()
	switch {
	case ctx.Err() != nil || apierrors.IsNotFound(err):
		return true
	case err != nil && (!goesOn || apierrors.IsForbidden(err)):
		f.report(run, err)
		return true
	default:
		return !goesOn
	}
}

// splitTime splits a line into its leading time and the rest.
func splitTime(line []byte) (time.Time, []byte) {
	stamp, text, _ := bytes.Cut(line, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}, line
	}
	return at, text
}

// eachLine passes on lines of any length, without line breaks.
func eachLine(stream io.Reader, pass func(line []byte)) error {
	reader := bufio.NewReader(stream)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			pass(bytes.TrimRight(line, "\r\n"))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading a log: %w", err)
		}
	}
}
