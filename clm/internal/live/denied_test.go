// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// as makes the release be looked at by a user who has nothing but the given rules in the namespace.
func (w *world) as(rules string) {
	w.Helper()
	user := "user-" + w.namespace
	w.createForeign(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: limited}
rules: ` + rules + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: limited}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: limited}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ` + user + `}]
`)
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	w.options.Client = newClient(w, config)
}

func notes(list []dependents.Note) string {
	var lines []string
	for _, note := range list {
		lines = append(lines, note.String())
	}
	return strings.Join(lines, "\n")
}

func TestLimitedUserIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(workload("Deployment", "web", ""))
	w.until(dependents.WriteOptions{}, "1/1 replicas available\n└─ ReplicaSet")
	w.pods("web-", 1)
	w.as(`[{apiGroups: ["", apps], resources: [deployments, replicasets, pods, persistentvolumeclaims], verbs: [get, list]}]`)

	report, err := live.Events(t.Context(), w.options)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("not shown: you are not allowed to list events in namespace "+w.namespace, notes(report.Notes)); diff != "" {
		t.Errorf("notes about events (-want +got):\n%s", diff)
	}

	var told []string
	err = live.WatchEvents(t.Context(), w.options, live.EventSink{Note: func(n dependents.Note) { told = append(told, n.String()) }})
	if !apierrors.IsForbidden(err) {
		t.Errorf("expected it to be an error that nothing can be watched, got %v", err)
	}
	if diff := cmp.Diff([]string{"not shown: you are not allowed to list and watch events in namespace " + w.namespace}, told); diff != "" {
		t.Errorf("notes about the watch of events (-want +got):\n%s", diff)
	}

	var problems []string
	var out bytes.Buffer
	testenv.Eventually(t, func() (bool, string) { // the container has to run
		problems = nil
		err = live.Logs(t.Context(), live.LogOptions{Options: w.options, Problem: func(text string) { problems = append(problems, text) }}, &out)
		return err != nil, "no container yet"
	})
	if diff := cmp.Diff([]string{"not shown: you are not allowed to get pods/log in namespace " + w.namespace}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	problems = nil
	follow := live.LogOptions{Options: w.options, Follow: true, Problem: func(text string) { problems = append(problems, text) }}
	if err := live.Logs(t.Context(), follow, &out); !apierrors.IsForbidden(err) {
		t.Errorf("expected it to be an error that no pods can be watched, got %v", err)
	}
	if want := "not shown: you are not allowed to list and watch pods in namespace " + w.namespace; !slices.Contains(problems, want) {
		t.Errorf("problems: got %q, want %q among them", problems, want)
	}
	if !strings.Contains(err.Error(), "1 of 1 containers") || out.Len() > 0 {
		t.Errorf("got error %v and output %q", err, &out)
	}
}

func TestUnansweredRequestsAreErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, resource, want string
		look                   func(w *world) error
	}{
		{"half a tree is not shown as if it were whole", "replicasets", "listing replicasets in namespace", func(w *world) error {
			_, err := live.Tree(w.Context(), w.options)
			return err
		}},
		{"the same holds for reasons", "events", "listing the events of ", func(w *world) error {
			_, err := live.Tree(w.Context(), w.options)
			return err
		}},
		{"and for events", "events", "listing events in namespace", func(w *world) error {
			_, err := live.Events(w.Context(), w.options)
			return err
		}},
		{"a watch that cannot begin", "events", "listing what to watch", func(w *world) error {
			return live.WatchEvents(w.Context(), w.options, live.EventSink{})
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(workload("Deployment", "web", neverReady))
			config := rest.CopyConfig(w.config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return requests.RoundTripper(func(request *http.Request) (*http.Response, error) {
					if requests.New(request.Method, request.URL).Resource == test.resource {
						return nil, errors.New("the line is dead")
					}
					return next.RoundTrip(request)
				})
			})
			w.options.Client = newClient(t, config)
			if err := test.look(w); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the line is dead") {
				t.Errorf("expected an error that says %q, and why, got %v", test.want, err)
			}
		})
	}
}
