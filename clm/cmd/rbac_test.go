// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// limited is a place in which a service account works that has only the rights that clm rbac names.
type limited struct {
	*place

	objects []client.Object // that other than the service account have to make
	release []string        // the objects that are applied, revision by revision
}

// simple is a release of one kind, of which an object exists before.
func simple(t *testing.T) *limited {
	t.Helper()
	p := newPlace(t)
	l := &limited{place: p, release: []string{configMap("a", "1") + configMap("b", "1"), configMap("a", "2") + configMap("c", "1")}}
	l.objects = []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "a"}}}
	return l
}

// wide is a release of the kinds that take rights beside those for themselves.
func wide(t *testing.T) *limited {
	t.Helper()
	p := newPlace(t)
	release := strings.ReplaceAll(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default, namespace: PLACE}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: PLACE, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.PLACE.example.com}
spec:
  group: PLACE.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: PLACE.example.com/v1
kind: Thing
metadata: {name: one}
---
apiVersion: v1
kind: Namespace
metadata: {name: PLACE-more}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: PLACE-more}
`, "PLACE", p.namespace)
	l := &limited{place: p, release: []string{release}}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	l.objects = []client.Object{&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}, Provisioner: "none.example.com", VolumeBindingMode: &mode}}
	return l
}

// allow makes the roles and bindings that clm rbac names.
func (l *limited) allow() {
	l.Helper()
	printed := l.must("rbac", "web", l.file("all.yaml", strings.Join(l.release, "\n---\n")), "--service-account", "deployer", "-o", "json").stdout
	for _, object := range l.items(printed) {
		l.objects = append(l.objects, &object)
	}
	for _, object := range l.objects {
		if err := l.client.Create(l.Context(), object); err != nil {
			l.Fatal(err)
		}
		if object.GetNamespace() == "" {
			l.Cleanup(func() { _ = l.client.Delete(context.WithoutCancel(l.Context()), object) })
		}
	}
}

// live goes through the life of the release as the service account, up to the first error.
func (l *limited) live() result {
	l.Helper()
	as := []string{"--as", "system:serviceaccount:" + l.namespace + ":deployer", "--lock-timeout", "2s", "--timeout", "60s"}
	steps := [][]string{}
	for _, content := range l.release {
		steps = append(steps, []string{"apply", "web", l.file("app.yaml", content)})
	}
	if len(l.release) > 1 {
		steps = append(steps, nil, steps[len(steps)-1], []string{"rollback", "web"})
	}
	for _, step := range append(steps, []string{"delete", "web"}) {
		if step == nil {
			l.edit("a")
			continue
		}
		got := l.clm(append(step, as...)...)
		if got.code != 0 {
			return got
		}
		if slices.Equal(step, []string{"delete", "web"}) && strings.Contains(got.stdout+got.stderr, "without a barrier") {
			l.Errorf("instances were not protected: %s", got.stdout+got.stderr)
		}
		if slices.Equal(step, []string{"rollback", "web"}) {
			if diff := gocmp.Diff(map[string]string{"value": "1"}, l.configMap("a")); diff != "" {
				l.Errorf("what others have added should be gone: %s", diff)
			}
		}
	}
	return result{}
}

// edit adds something to a ConfigMap, as kubectl edit does.
func (l *limited) edit(name string) {
	l.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	if err := l.client.Patch(l.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"data":{"more":"1"}}`)), client.FieldOwner("kubectl-edit")); err != nil {
		l.Fatal(err)
	}
}

func TestRightsAreEnough(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(*testing.T) *limited{"Simple": simple, "Wide": wide} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := release(t)
			l.allow()
			if got := l.live(); got.code != 0 {
				t.Errorf("exit code %d: %s", got.code, got.stderr)
			}
		})
	}
}

func TestRbacOutput(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"yaml", "json"} {
		s := &transcript{place: newPlace(t)}
		s.run("rbac", "web", s.file("app.yaml", twoWaves), "--service-account", "ci:deployer", "-o", format)
		s.expect("transcripts/rbac." + format + ".txt")
	}
}

// user makes a ServiceAccount that may do in the namespace what the rules say, and returns the flag that has clm work
// as it.
func (p *place) user(name string, rules ...rbacv1.PolicyRule) string {
	p.Helper()
	meta := metav1.ObjectMeta{Namespace: p.namespace, Name: name}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: name}},
		},
	} {
		if err := p.client.Create(p.Context(), object); err != nil {
			p.Fatal(err)
		}
	}
	return "--as=system:serviceaccount:" + p.namespace + ":" + name
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// versions are those of all objects that are a part of records or locks, or belong to releases.
func (p *place) versions() map[string]string {
	p.Helper()
	found := map[string]string{}
	for apiVersion, kinds := range map[string][]string{"v1": {"Secret", "ConfigMap", "Service"}, "apps/v1": {"Deployment"}, "coordination.k8s.io/v1": {"Lease"}} {
		for _, kind := range kinds {
			list := &metav1.PartialObjectMetadataList{}
			list.APIVersion, list.Kind = apiVersion, kind+"List"
			if err := p.client.List(p.Context(), list, client.InNamespace(p.namespace)); err != nil {
				p.Fatal(err)
			}
			for _, item := range list.Items {
				if item.Name != "kube-root-ca.crt" {
					// Generations do not grow with what controllers report.
					version := item.ResourceVersion
					if item.Generation > 0 {
						version = fmt.Sprint("generation ", item.Generation)
					}
					found[kind+" "+item.Name] = version
				}
			}
		}
	}
	return found
}
