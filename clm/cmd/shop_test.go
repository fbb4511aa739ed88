// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// shopKinds are all kinds of the chart in folder testdata/shop, with the number of objects.
var shopKinds = map[metav1.TypeMeta]int{
	{APIVersion: "v1", Kind: "ServiceAccount"}:                        11,
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}:        11,
	{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}: 11,
	{APIVersion: "v1", Kind: "ConfigMap"}:                             11,
	{APIVersion: "v1", Kind: "Secret"}:                                11,
	{APIVersion: "v1", Kind: "Service"}:                               11,
	{APIVersion: "apps/v1", Kind: "Deployment"}:                       11,
	{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}:            11,
	{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}:             11,
	{APIVersion: "batch/v1", Kind: "Job"}:                             1,
}

// expectShop compares the number of objects of each kind that belong to the release with what the chart has, times the factor.
func (p *place) expectShop(factor int) {
	p.Helper()
	for kind, count := range shopKinds {
		if names := p.names(kind.APIVersion, kind.Kind); len(names) != factor*count {
			p.Errorf("want %d objects of kind %s, got %v", factor*count, kind.Kind, names)
		}
	}
}

// expectImages checks which image all Deployments have, and the Job that was made by a hook, of which there is none if that is empty.
func (p *place) expectImages(want, wantOfHook string) {
	p.Helper()
	images := map[string]bool{}
	deployments, job := &appsv1.DeploymentList{}, &batchv1.Job{}
	if err := p.client.List(p.Context(), deployments, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	for _, deployment := range deployments.Items {
		images[deployment.Spec.Template.Spec.Containers[0].Image] = true
		if deployment.Status.AvailableReplicas != 1 || deployment.Status.UpdatedReplicas != 1 {
			p.Errorf("Deployment %s is not ready: %v", deployment.Name, deployment.Status)
		}
	}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "migration"}, job); client.IgnoreNotFound(err) != nil {
		p.Fatal(err)
	}
	got := ""
	for _, container := range job.Spec.Template.Spec.Containers {
		got = container.Image
	}
	if got != wantOfHook {
		p.Errorf("want the hook to have run with image %q, got %q", wantOfHook, got)
	}
	if len(images) != 1 || !images[want] {
		p.Errorf("want image %s, got %v", want, images)
	}
}

func TestShop(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := newProxy(t, nil)
	q := p.through(x)
	apply := func(args ...string) []string { return append([]string{"apply", "web", "testdata/shop"}, args...) }
	q.must(apply()...)
	p.expectShop(1)
	p.expectImages("example.com/shop:1", "example.com/shop:1")

	x.requests.Reset()
	q.must(apply()...)
	expectNothingDone(t, x)

	x.requests.Reset()
	upgrade := apply("--set", "image=example.com/shop:2")
	q.must(upgrade...)
	p.expectImages("example.com/shop:2", "example.com/shop:2")
	// A Deployment each; and the Job, which is deleted, and made again, after a dry run of its creation.
	changes := x.requests.Count(func(r testenv.Request) bool { return r.IsWrite() && r.Resource != "leases" && r.Resource != "secrets" })
	if changes != 14 {
		t.Errorf("want only Deployments and the hook to be written, got:\n%s", x.requests)
	}
	p.expectHistory("Superseded", "Ready")

	failed := q.clm(apply("--set", "image=example.com/shop:3", "--set", "broken=front", "--revert-on-failure")...)
	if failed.code != exitNotReady || !strings.Contains(failed.stderr, "Deployment "+p.namespace+"/front: failed") {
		t.Errorf("exit code %d:\n%s", failed.code, failed.stderr)
	}
	p.expectHistory("Superseded", "Superseded", "Failed", "Ready")
	p.expectImages("example.com/shop:2", "example.com/shop:3")

	failed = q.clm(apply("--set", "image=example.com/shop:4", "--set", "brokenMigration=true", "--revert-on-failure")...)
	if failed.code != exitNotReady || !strings.Contains(failed.stderr, "Job "+p.namespace+"/migration: failed") {
		t.Errorf("exit code %d:\n%s", failed.code, failed.stderr)
	}
	p.expectHistory("Superseded", "Superseded", "Failed", "Superseded", "Failed", "Ready")
	p.expectImages("example.com/shop:2", "")

	q.must("rollback", "web", "1")
	p.expectHistory("Superseded", "Superseded", "Failed", "Superseded", "Failed", "Superseded", "Ready")
	p.expectImages("example.com/shop:1", "")

	// What was rendered for the installation differs from what is rendered for an upgrade, in when hooks are to run.
	q.must(apply()...)
	p.meddle()
	q.must(apply()...)
	p.expectImages("example.com/shop:1", "example.com/shop:1")
	p.expectShop(1)
	if history := p.items(p.must("history", "web", "-o", "json").stdout); len(history) != 8 {
		t.Errorf("putting right what others have changed has made revisions: %v", history)
	}

	q.must("delete", "web")
	p.expectShop(0)
	if left := p.names("v1", "Secret"); len(left) > 0 || p.locked("web") {
		t.Errorf("left behind: %v", left)
	}
}

// expectNothingDone looks at the requests of a command that had nothing to do.
func expectNothingDone(t *testing.T, x *proxy) {
	t.Helper()
	lists := map[string]int{}
	for _, request := range x.requests.All() {
		if request.IsWrite() {
			t.Errorf("written: %s %s", request.Method, request.Path)
		}
		// A watch begins with a list.
		if request.Resource != "" && request.Name == "" {
			lists[request.Group+"/"+request.Resource]++
		}
	}
	for kind, count := range lists {
		if count > 1 {
			t.Errorf("%s was listed %d times", kind, count)
		}
	}
	if len(lists) == 0 {
		t.Error("want the cluster to be looked at")
	}
}

// meddle changes, deletes and takes away what belongs to the release.
func (p *place) meddle() {
	p.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: p.namespace, Name: name} }
	for _, step := range []struct {
		object client.Object
		patch  string
	}{
		{&appsv1.Deployment{ObjectMeta: meta("front")}, `{"spec":{"replicas":3}}`},
		{&corev1.ConfigMap{ObjectMeta: meta("front")}, `{"data":{"settings.yaml":"none"}}`},
		{&corev1.Service{ObjectMeta: meta("front")}, `{"metadata":{"labels":null}}`},
	} {
		if err := p.client.Patch(p.Context(), step.object, client.RawPatch(types.MergePatchType, []byte(step.patch)), client.FieldOwner("meddler")); err != nil {
			p.Fatal(err)
		}
	}
	if err := p.client.Delete(p.Context(), &corev1.Secret{ObjectMeta: meta("basket")}); err != nil {
		p.Fatal(err)
	}
}

// TestShopHasAHundredObjects keeps the name of what is proven true.
func TestShopHasAHundredObjects(t *testing.T) {
	t.Parallel()
	got, err := runTemplateCommand(t, "", "web", "testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(got) {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			kinds[strings.TrimSpace(kind)]++
		}
	}
	want, total := map[string]int{}, 0
	for kind, count := range shopKinds {
		if total += count; count > 0 {
			want[kind.Kind] = count
		}
	}
	if diff := cmp.Diff(want, kinds); diff != "" || total != 100 {
		t.Errorf("%d objects (-want +got):\n%s", total, diff)
	}
}
