// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/testenv"
)

// running waits until the pods are running.
func (w *world) running(prefix string, wanted int) []corev1.Pod {
	w.Helper()
	var found []corev1.Pod
	testenv.Eventually(w, func() (bool, string) {
		found = slices.DeleteFunc(w.pods(prefix, wanted), func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
		return len(found) >= wanted, fmt.Sprintf("%d of %d pods are running", len(found), wanted)
	})
	return found
}

func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	two := strings.Replace(workload("Deployment", "web", ""), "containers: [", "containers: [{name: proxy, image: demo:1}, ", 1)
	w.create(two + "\n---" + workload("Deployment", "job", ""))
	w.createForeign(workload("Deployment", "other", ""))
	web, job := w.running("web-", 1)[0].Name, w.running("job-", 1)[0].Name
	w.running("other-", 1)
	long := strings.Repeat("x", 100_000)
	w.logs.texts = map[string]string{"main": "one\ntwo", "proxy": long + "\n"}

	for _, test := range []struct {
		reason  string
		options live.LogOptions
		want    []string
		asked   string
	}{
		{
			reason: "all containers of all pods, one after the other; a last line without an end is a line",
			want:   []string{job + "/main: one", job + "/main: two", web + "/proxy: " + long, web + "/main: one", web + "/main: two"},
		}, {
			reason:  "the containers of one name",
			options: live.LogOptions{Container: "proxy"},
			want:    []string{web + "/proxy: " + long},
		}, {
			reason:  "the pods of one dependent, as far back as is asked for",
			options: live.LogOptions{Select: func(d, _ display.Object) bool { return d.Name == "job" }, Tail: new(int64(20))},
			want:    []string{job + "/main: one", job + "/main: two"},
			asked:   "container=main&tailLines=20",
		}, {
			reason:  "a colour for each container",
			options: live.LogOptions{Container: "proxy", Color: true},
			want:    []string{"\x1b[COLORm" + web + "/proxy:\x1b[0m " + long},
		},
	} {
		w.logs.asked = nil
		options := test.options
		options.Options = w.options
		var out testenv.Output
		if err := live.Logs(t.Context(), options, &out); err != nil {
			t.Fatal(err)
		}
		// Names are made up, and so are their colours.
		shown := regexp.MustCompile(`\x1b\[[39][2-6]m`).ReplaceAllString(out.String(), "\x1b[COLORm")
		got := strings.Split(strings.TrimSuffix(shown, "\n"), "\n")
		// The server decides on the order of containers in a pod's status.
		slices.Sort(got)
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if test.asked != "" && !slices.Contains(w.logs.asked, test.asked) {
			t.Errorf("%s: expected %s to be asked for, got %v", test.reason, test.asked, w.logs.asked)
		}
	}

	// The simulated node cannot be reached, as it happens with real ones.
	w.logs.broken = "proxy"
	var problems []string
	var out testenv.Output
	err := live.Logs(t.Context(), live.LogOptions{Options: w.options, Problem: func(text string) { problems = append(problems, text) }}, &out)
	if err == nil || !strings.Contains(err.Error(), "1 of 3 containers") || len(problems) != 1 || !strings.HasPrefix(problems[0], web+"/proxy cannot be read: ") {
		t.Errorf("expected the one container to be named whose log cannot be read, got error %v and %q", err, problems)
	}
	if !strings.Contains(out.String(), web+"/main: two\n") {
		t.Errorf("expected the other containers to be read, got:\n%s", &out)
	}
}

func TestLogsFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deployment := w.create(workload("Deployment", "web", ""))[0]
	first := w.running("web-", 1)[0].Name
	reader, writer := io.Pipe()
	w.logs.streams = map[string]io.ReadCloser{first: reader}
	w.logs.texts = map[string]string{"main": "2026-01-01T00:00:00.1Z one\n2026-01-01T00:00:00.2Z two\n2026-01-01T00:00:00.2Z two again\n"}

	var out testenv.Output
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- live.Logs(ctx, live.LogOptions{Options: w.options, Follow: true, Tail: new(int64(1))}, &out)
	}()
	await := func(line string) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) { return strings.Contains(out.String(), line+"\n"), out.String() })
	}
	if _, err := io.WriteString(writer, "2026-01-01T00:00:00.1Z one\n"); err != nil {
		t.Fatal(err)
	}
	await(first + "/main: one")
	// The connection breaks; the server repeats the second that it broke in.
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	await(first + "/main: two again")

	if err := w.client.Patch(t.Context(), deployment, mergePatch([]byte(`{"spec":{"replicas":2}}`))); err != nil {
		t.Fatal(err)
	}
	var second string
	for _, pod := range w.running("web-", 2) {
		if pod.Name != first {
			second = pod.Name
		}
	}
	await(second + "/main: two again")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}

	for _, pod := range []string{first, second} {
		want := strings.ReplaceAll("POD/main: one\nPOD/main: two\nPOD/main: two again\n", "POD", pod)
		var got strings.Builder
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, pod) {
				got.WriteString(line)
			}
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("lines of %s (-want +got):\n%s", pod, diff)
		}
	}
	tails := 0
	for _, asked := range w.logs.asked {
		if strings.Contains(asked, "tailLines") {
			tails++
		}
	}
	if tails != 1 || !strings.Contains(strings.Join(w.logs.asked, " "), "sinceTime=2026-01-01T00%3A00%3A00Z") {
		t.Errorf("expected the tail of the first pod only, and then what follows its last line, got %v", w.logs.asked)
	}
}
