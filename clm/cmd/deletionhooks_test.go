// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// job is the manifest of a Job with annotations, whose keys lack the prefix of clm if they have no slash.
func job(name string, annotations ...string) string {
	var list []string
	for i := 0; i < len(annotations); i += 2 {
		key := annotations[i]
		if !strings.Contains(key, "/") {
			key = "clm.cs.sap.com/" + key
		}
		list = append(list, fmt.Sprintf("%s: %q", key, annotations[i+1]))
	}
	return fmt.Sprintf("\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, annotations: {%s}}\n"+
		"spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}}}\n", name, strings.Join(list, ", "))
}

// jobsThatAppear watches the namespace. The function that it returns tells the names of all Jobs with a prefix that
// were created since then, in their order.
func (p *place) jobsThatAppear() (names func(prefix string) []string) {
	p.Helper()
	clnt, err := client.NewWithWatch(testenv.Config(p), client.Options{Scheme: testenv.Scheme(p)})
	if err != nil {
		p.Fatal(err)
	}
	stream, err := clnt.Watch(p.Context(), &batchv1.JobList{}, client.InNamespace(p.namespace))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(stream.Stop)
	last := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "last-of-the-jobs"}}
	last.Spec.Suspend = new(true)
	last.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example.com/none"}}}
	var mu sync.Mutex
	var seen []string
	return func(prefix string) []string {
		p.Helper()
		mu.Lock()
		defer mu.Unlock()
		// Events come in order, and later than what they are about.
		if err := errors.Join(clnt.Create(p.Context(), last.DeepCopy()), clnt.Delete(p.Context(), last, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			p.Fatal(err)
		}
		for event := range stream.ResultChan() {
			job, ok := event.Object.(*batchv1.Job)
			if ok && event.Type == watch.Added && job.Name != last.Name {
				seen = append(seen, job.Name)
			}
			if ok && event.Type == watch.Deleted && job.Name == last.Name {
				break
			}
		}
		return slices.DeleteFunc(slices.Clone(seen), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	}
}

// records returns the names of all Secrets. A process that was killed after it had removed a release may have left the
// Lease.
func (p *place) records() []string {
	p.Helper()
	secrets := &corev1.SecretList{}
	if err := p.client.List(p.Context(), secrets, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	var names []string
	for _, secret := range secrets.Items {
		names = append(names, secret.Name)
	}
	return names
}

// expectNothing checks that neither objects of releases nor their records are left.
func (p *place) expectNothing() {
	p.Helper()
	left := slices.Concat(p.names("v1", "ConfigMap"), p.names("batch/v1", "Job"), p.records())
	if len(left) > 0 {
		p.Errorf("left behind: %v", left)
	}
}

// expect checks how clm has ended, and what it has said.
func (p *place) expect(got result, code int, texts ...string) result {
	p.Helper()
	if got.code != code {
		p.Errorf("want exit code %d, got %d: %s%s", code, got.code, got.stdout, got.stderr)
	}
	for _, text := range texts {
		if text = strings.ReplaceAll(text, "PLACE", p.namespace); !strings.Contains(got.stdout+got.stderr, text) {
			p.Errorf("want a text with %q, got %s%s", text, got.stdout, got.stderr)
		}
	}
	return got
}

// loseChunks deletes what is recorded of revisions.
func (p *place) loseChunks() {
	p.Helper()
	secrets := &corev1.SecretList{}
	if err := p.client.List(p.Context(), secrets, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	for _, secret := range secrets.Items {
		if strings.HasPrefix(secret.Name, "clm-") {
			if err := p.client.Patch(p.Context(), &secret, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
				p.Fatal(err)
			}
			if err := p.client.Delete(p.Context(), &secret); err != nil {
				p.Fatal(err)
			}
		}
	}
}

func TestDeletionHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	// The dependent that is a hook as well makes room for it.
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+job("both")+
		job("both", "deletion-hook", "preDelete", "apply-order", "1", "update-policy", "recreate")+
		job("before", "deletion-hook", "pre-delete")+job("after", "deletion-hook", "post-delete")))
	if diff := cmp.Diff([]string{"both"}, p.names("batch/v1", "Job")); diff != "" {
		t.Errorf("hooks are not applied with the release: %s", diff)
	}
	want := "These hooks will run first, and be deleted afterwards:\n  Job both\n  Job before\n2 objects will be deleted:\n  ConfigMap PLACE/a\n  Job PLACE/both\n" +
		"These hooks will run last, and be deleted afterwards:\n  Job after\n"
	if diff := cmp.Diff(strings.ReplaceAll(want, "PLACE", p.namespace), p.must("delete", "web", "--dry-run").stdout); diff != "" {
		t.Error(diff)
	}
	p.expect(p.must("delete", "web"), 0, "running pre-delete hooks", "Job PLACE/before: created", "Job PLACE/before: deleted", "running post-delete hooks", "release PLACE/web was deleted")
	testenv.Eventually(t, func() (bool, string) {
		diff := cmp.Diff([]string{"both", "before", "both", "after"}, jobs(""))
		return diff == "", diff
	})
	p.expectNothing()
}

func TestDeletionHooksThatAreLost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+job("before", "deletion-hook", "pre-delete")))
	p.must("apply", "plain", p.file("plain.yaml", configMap("b", "1")))
	p.loseChunks()
	p.expect(p.clm("delete", "web"), exitRefused, "the deletion hooks (1) of release PLACE/web are lost: revision 1: Secret PLACE/clm-", "clm delete web -n PLACE --skip-hooks")
	if p.configMap("a") == nil {
		t.Fatal("want the dependents to stay")
	}
	p.must("delete", "web", "--skip-hooks")
	// What has no hooks needs no manifest to be deleted.
	p.must("delete", "plain")
	p.expectNothing()
}

// TestDeathDuringDeletionHooks kills clm at each write of a deletion with hooks, and has another process go on. No
// hook runs twice, none is left out.
func TestDeathDuringDeletionHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	killAtEach(t, 4, 15, func(m *mortal) func(int) bool {
		return func(k int) (killed bool) {
			name := fmt.Sprintf("r%d", k)
			// One of the hooks takes the place of a dependent.
			p.succeeds("apply", name, p.file(name+".yaml", configMap(name+"-a", "1")+job(name+"-both")+
				job(name+"-both", "deletion-hook", "pre-delete")+job(name+"-z", "deletion-hook", "post-delete")))
			killed = m.run(p, k, "delete", name)
			if got := p.clm("delete", name); got.code != 0 && !strings.Contains(got.stderr, "not found") {
				p.Errorf("killed at write %d: exit code %d\n%s", k, got.code, got.stderr)
			}
			testenv.Eventually(p, func() (bool, string) {
				diff := cmp.Diff([]string{name + "-both", name + "-both", name + "-z"}, jobs(name+"-"))
				return diff == "", fmt.Sprintf("killed at write %d: hooks ran (-want +got):\n%s", k, diff)
			})
			return killed
		}
	})
	p.expectNothing()
}

// succeeds is must for goroutines.
func (p *place) succeeds(args ...string) {
	p.Helper()
	if got := p.clm(args...); got.code != 0 {
		p.Errorf("clm %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
}
