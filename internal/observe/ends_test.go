// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/status"
)

const deletedJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: b, deletionTimestamp: "2030-01-01T00:00:10Z", finalizers: [example.com/x, example.com/y]}
status:
  conditions:
  - {type: TYPE, status: "STATUS", lastTransitionTime: "2030-01-01T00:00:TIMEZ"}
`

const deletedPod = `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b, deletionTimestamp: "2030-01-01T00:00:40Z", finalizers: [example.com/x, example.com/y]}
status:
  phase: TYPE
  conditions: [{type: Ready, status: "False", reason: REASON}]
  containerStatuses:
  - {name: a, state: {terminated: {exitCode: 0, finishedAt: "2030-01-01T00:00:05Z"}}}
  - {name: b, state: {terminated: {exitCode: 0, finishedAt: "2030-01-01T00:00:TIMEZ"}}}
`

// TestOutcomes counts what had ended when its deletion was requested, and not what the deletion has ended.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const name = "example.com"
	reader := &observe.Reader{OwnerLabel: name + "/owner-id", Manager: us, Judges: judges.New(name, status.NewAnalyzer(name, status.Options{}))}
	const deletion = `, deletionTimestamp: "2030-01-01T00:00:10Z"`
	for _, test := range []struct {
		reason, object string
		replacements   []string
		want           status.Status
	}{
		{"a Job that had finished", deletedJob, []string{"TYPE", "Complete", "STATUS", "True", "TIME", "10"}, status.CurrentStatus},
		{"a Job that had failed", deletedJob, []string{"TYPE", "Failed", "STATUS", "True", "TIME", "09"}, status.FailedStatus},
		{"a Job that finished later", deletedJob, []string{"TYPE", "Complete", "STATUS", "True", "TIME", "11"}, ""},
		{"a Job that was suspended", deletedJob, []string{"TYPE", "Suspended", "STATUS", "True", "TIME", "09"}, ""},
		{"a Job that has not finished", deletedJob, []string{"TYPE", "Complete", "STATUS", "False", "TIME", "09"}, ""},
		{"a Job that is not being deleted", deletedJob, []string{deletion, "", "TYPE", "Complete", "STATUS", "True", "TIME", "09"}, ""},
		{"a Pod that had succeeded", deletedPod, []string{"TYPE", "Succeeded", "REASON", "PodCompleted", "TIME", "10"}, status.CurrentStatus},
		{"a Pod that had failed", deletedPod, []string{"TYPE", "Failed", "REASON", "PodFailed", "TIME", "10"}, status.FailedStatus},
		{"a Pod that ended because it was deleted", deletedPod, []string{"TYPE", "Succeeded", "REASON", "PodCompleted", "TIME", "11"}, ""},
		{"a Pod that runs", deletedPod, []string{"TYPE", "Running", "TIME", "10"}, ""},
		{"another kind", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/x, example.com/y]" + deletion + "}}", nil, ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			object := testenv.Object(t, strings.NewReplacer(test.replacements...).Replace(test.object))
			if object.GetKind() == "Pod" {
				object.SetDeletionGracePeriodSeconds(new(int64(30)))
			}
			seen := reader.Read(object)
			if seen.Outcome != test.want || seen.Finalizers != "example.com/x,example.com/y" {
				t.Errorf("got outcome %q and finalizers %q, want outcome %q", seen.Outcome, seen.Finalizers, test.want)
			}
		})
	}
}
