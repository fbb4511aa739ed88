// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/component-operator/runtime/internal/display"
)

// LogOptions specify the logs to read. Without restrictions, all logs are read.
type LogOptions struct {
	Options
	// Follow continues with new lines, including those of containers and pods that are created later, until the context
	// ends.
	Follow bool
	// Since omits older lines. Defaults to no limit.
	Since time.Duration
	// Tail is the number of lines of each container to start with; containers that start later are shown from their
	// first line. Defaults to all.
	Tail *int64
	// Container restricts the logs to containers of this name. Defaults to all, including init containers.
	Container string
	// Previous reads the log of the previous run of containers that were restarted. It cannot be followed.
	Previous bool
	// Select selects pods by the dependents that they belong to (possibly themselves), or by their own names. Defaults
	// to all.
	Select func(dependent, pod display.Object) bool
	// Color prints each container in a color of its own.
	Color bool
	// Problem receives one line about each log that cannot be read. It is not called concurrently. Defaults to none.
	Problem func(text string)
}

// Logs writes the logs of the containers of the release, each line preceded by the names of the pod and the container.
// Lines are written as a whole. Without Follow, it writes one container after the other, and fails if one of them
// cannot be read, or if no pod has such a container.
//
// With Follow, lines of different containers are interleaved. It returns nil when the context ends. If a connection is
// lost, it reconnects and continues after the last line.
func Logs(ctx context.Context, options LogOptions, out io.Writer) error {
	r := &logReader{LogOptions: options, out: out}
	r.note = once(func(note display.Note) { r.problem(note.String()) })
	if options.Follow {
		return r.followAll(ctx)
	}
	return r.readAll(ctx)
}

type logReader struct {
	LogOptions

	note func(note display.Note)
	core corev1client.CoreV1Interface

	mu  sync.Mutex // guards out, and calls of Problem
	out io.Writer
}

// run is one run of a container. Each restart begins a new log.
type run struct {
	namespace, pod, container string
	podUID                    string
	restarts                  int32
}

func (r run) String() string { return r.pod + "/" + r.container }

// readAll reads the logs without following them.
func (r *logReader) readAll(ctx context.Context) error {
	s := NewSurvey(Sink{})
	defer s.Close()
	s.once = true
	if err := s.Set(r.Options); err != nil {
		return err
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	pods := r.pods(s)
	var runs []run
	names := sets.New[string]()
	for _, pod := range pods {
		runs = append(runs, r.runs(pod)...)
		names.Insert(containersOf(pod)...)
	}
	failed := 0
	for _, run := range runs {
		if err := r.copy(ctx, run, r.logOptions(run), func(line []byte) { r.write(run, line) }); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			failed++
			r.report(run, err)
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("reading logs: %d of %d containers could not be read", failed, len(runs))
	case r.Container != "" && len(names) > 0 && !names.Has(r.Container):
		return fmt.Errorf("no selected pod has a container %q; its containers are: %s", r.Container, strings.Join(sets.List(names), ", "))
	case len(runs) == 0 && r.Previous:
		r.problem("no selected container has been restarted, so there are no previous logs")
	case len(runs) == 0:
		r.problem("no selected container has started yet")
	}
	return nil
}

// pods returns the selected pods in a tree.
func (r *logReader) pods(s *Survey) []*corev1.Pod {
	for _, note := range s.sortedNotes() {
		r.note(note)
	}
	if r.core == nil { // streams read it later
		r.core = s.core
	}
	var selected []*corev1.Pod
	for _, root := range s.grow() {
		root.Walk(func(node *display.Node) {
			if node.Live == nil || node.Object.Key().GroupKind != pods.GroupKind() || r.Select != nil && !r.Select(root.Object, node.Object) {
				return
			}
			if pod := podOf(node.Live); pod != nil {
				selected = append(selected, pod)
			}
		})
	}
	return selected
}

// containersOf returns the names of all containers of a pod.
func containersOf(pod *corev1.Pod) []string {
	regular := display.Map(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) string { return c.Name })
	return append(regular, display.Map(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) string { return c.Name })...)
}

// runs returns the runs of containers of a pod that have a log.
func (r *logReader) runs(pod *corev1.Pod) []run {
	var found []run
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		started := c.LastTerminationState.Terminated != nil || !r.Previous && (c.State.Running != nil || c.State.Terminated != nil)
		if started && (r.Container == "" || r.Container == c.Name) {
			found = append(found, runOf(pod, c))
		}
	}
	return found
}

func runOf(pod *corev1.Pod, c corev1.ContainerStatus) run {
	return run{namespace: pod.Namespace, pod: pod.Name, container: c.Name, podUID: string(pod.UID), restarts: c.RestartCount}
}

func (r *logReader) logOptions(run run) *corev1.PodLogOptions {
	options := &corev1.PodLogOptions{Container: run.container, TailLines: r.Tail, Previous: r.Previous}
	if r.Since > 0 {
		since := metav1.NewTime(time.Now().Add(-r.Since))
		options.SinceTime = &since
	}
	return options
}

// copy passes the lines of a log to a function, without line breaks, until the log ends.
func (r *logReader) copy(ctx context.Context, run run, options *corev1.PodLogOptions, pass func(line []byte)) error {
	stream, err := r.core.Pods(run.namespace).GetLogs(run.pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	return eachLine(stream, pass)
}

// write prints a line after the names of its pod and container.
func (r *logReader) write(run run, line []byte) {
	prefix := run.String() + ":"
	if r.Color {
		prefix = fmt.Sprintf("\x1b[%dm%s\x1b[0m", colorOf(prefix), prefix)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, "%s %s\n", prefix, line)
}

// report reports to the user that a log cannot be read. It reports denied access only once per namespace.
func (r *logReader) report(run run, err error) {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		r.note(display.Note{Verb: "get", Resource: podLogs, Namespace: run.namespace})
	case errors.As(err, &status):
		// The text of the error itself contains the address of the server, which does not help.
		r.problem(fmt.Sprintf("%s cannot be read: %s", run, oneLine(status.Status().Message)))
	default:
		r.problem(fmt.Sprintf("%s cannot be read: %s", run, oneLine(err.Error())))
	}
}

func (r *logReader) problem(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Problem != nil {
		r.Problem(text)
	}
}

// colorOf returns a color for a name that is legible on any background, as the parameter of its control sequence.
func colorOf(name string) int {
	palette := []int{32, 33, 34, 35, 36, 92, 94, 95}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return palette[hash.Sum32()%uint32(len(palette))]
}

const (
	// maxStreams is the maximum number of logs that are followed at once: each is a connection to a node.
	maxStreams = 100
	// reconnectDelay is the pause before reconnecting to a log.
	reconnectDelay = time.Second
)

// logFollower follows the logs of all pods of the release.
type logFollower struct {
	*logReader
	streams errgroup.Group // at most maxStreams
	begun   map[run]bool   // the runs that are or were followed
	tooMany sync.Once

	runningMu sync.Mutex
	running   map[run]bool // the runs whose container has not ended
}

func newLogFollower(r *logReader) *logFollower {
	f := &logFollower{logReader: r, begun: map[run]bool{}}
	f.streams.SetLimit(maxStreams)
	return f
}

// followAll looks for pods again and again. Logs of pods that exist at the beginning start with the requested number of
// lines.
func (r *logReader) followAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	f := newLogFollower(r)
	r.Reasons = NoReasons // no events are needed
	defer func() { _ = f.streams.Wait() }()
	defer cancel()
	first := true
	return follow(ctx, r.Options, func(s *Survey) {
		pods := f.pods(s)
		f.noteRunning(pods)
		for _, pod := range pods {
			for _, run := range f.runs(pod) {
				options := &corev1.PodLogOptions{Container: run.container}
				if first {
					options = f.logOptions(run)
				}
				options.Follow, options.Timestamps = true, true
				f.begin(run, func() { f.stream(ctx, run, options) })
			}
		}
		first = false
	})
}

// begin starts to follow a run by calling stream, and reports whether it did. It does not if the run is or was already
// followed, or if too many are followed.
func (f *logFollower) begin(run run, stream func()) bool {
	if f.begun[run] {
		return false
	}
	f.begun[run] = f.streams.TryGo(func() error {
		stream()
		return nil
	})
	if !f.begun[run] {
		f.tooMany.Do(func() {
			f.problem(fmt.Sprintf("%s and others are not followed: clm follows at most %d containers; name the objects whose logs are wanted", run, maxStreams))
		})
	}
	return f.begun[run]
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
	f.runningMu.Lock()
	defer f.runningMu.Unlock()
	f.running = running
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

// isOver reports whether nothing more can be read of a run whose connection has ended. It reports the reason to the
// user if the run could not be read.
func (f *logFollower) isOver(ctx context.Context, run run, err error) bool {
	f.runningMu.Lock()
	goesOn := f.running[run]
	f.runningMu.Unlock()
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

// eachLine passes lines of any length to a function, without line breaks.
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
