// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// installObjectSets brings the definitions into the cluster, and returns a client that knows their types.
func installObjectSets(t *testing.T) client.Client {
	t.Helper()
	scheme := testenv.Scheme(t)
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	clnt, err := client.New(testenv.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(objectset.CRDs, "crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := objectset.CRDs.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := testenv.Object(t, string(raw))
		if err := clnt.Patch(t.Context(), definition, client.Apply, client.FieldOwner("objectset-test"), client.ForceOwnership); err != nil { //nolint:staticcheck // an unstructured object
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"ObjectSet", "ObjectDeployment"} {
		testenv.Eventually(t, func() (bool, string) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
			err := clnt.List(t.Context(), list, client.InNamespace("default"))
			return err == nil, kind + " is not served"
		})
	}
	return clnt
}

// objectDeployment creates an ObjectDeployment and a set of it, for which there is no operator.
func (p *place) objectDeployment() {
	p.Helper()
	installObjectSets(p.T)
	const spec = "phases: [{name: a, objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}}]}]"
	document := func(kind, name, spec string) *unstructured.Unstructured {
		return testenv.Object(p, "{apiVersion: core.component-operator.dev/v1alpha1, kind: "+kind+", metadata: {name: "+name+", labels: {core.component-operator.dev/revisions-of: web}}, spec: {"+spec+"}}")
	}
	web := document("ObjectDeployment", "web", "template: {spec: {successDelaySeconds: 1, "+spec+"}}")
	p.create(web)
	set := document("ObjectSet", "web-1", "revision: 1, "+spec)
	set.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: web.GetAPIVersion(), Kind: web.GetKind(), Name: "web", UID: web.GetUID(), Controller: new(true)}})
	p.create(set)
}

// startObjectSets runs an operator for ObjectSets of one namespace, and returns a client that knows them.
func startObjectSets(t *testing.T, namespace string) client.Client {
	t.Helper()
	clnt := installObjectSets(t)
	startOperator(t, clnt.Scheme(), namespace, func(mgr ctrl.Manager) error {
		return objectset.SetupWithManager(mgr, objectset.Options{SkipClusterObjectSets: true})
	})
	return clnt
}

// startOperator runs an operator for one namespace until the test ends.
func startOperator(t *testing.T, scheme *runtime.Scheme, namespace string, setup func(mgr ctrl.Manager) error) {
	t.Helper()
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// TestObjects has clm look at a deployment of sets, and roll it back.
func TestObjects(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	clnt := startObjectSets(t, p.namespace)
	web := &v1alpha1.ObjectDeployment{}
	template := func(image string) {
		t.Helper()
		document := strings.ReplaceAll(`
metadata: {name: web, annotations: {kubernetes.io/change-cause: "to IMAGE"}}
spec:
  template:
    spec:
      phases:
      - name: settings
        objects: [{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {image: IMAGE}}}]
      - name: deploy
        objects:
        - object:
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {SPEC, containers: [{name: web, image: IMAGE}]}
      availabilityProbes:
      - selector: {kind: {group: apps, kind: Deployment}}
        probes: [{condition: {type: Available}}, {fieldsEqual: {fieldA: .status.updatedReplicas, fieldB: .status.replicas}}]
`, "IMAGE", image)
		node := "terminationGracePeriodSeconds: 0"
		if image == "broken" {
			node += ", nodeSelector: {no: such-node}"
		}
		next := &v1alpha1.ObjectDeployment{}
		if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(document, "SPEC", node)), next); err != nil {
			t.Fatal(err)
		}
		next.Namespace = p.namespace
		if web.Name == "" {
			*web = *next
			if err := clnt.Create(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			return
		}
		web.Spec.Template, web.Annotations = next.Spec.Template, next.Annotations
		if err := clnt.Update(t.Context(), web); err != nil {
			t.Fatal(err)
		}
	}
	await := func(condition, reason string) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
				return false, err.Error()
			}
			found := meta.FindStatusCondition(web.Status.Conditions, condition)
			return found != nil && found.Reason == reason && found.ObservedGeneration == web.Generation, "the deployment is not " + reason
		})
	}
	template("one")
	await(v1alpha1.DeploymentProgressing, v1alpha1.ReasonIdle)
	template("broken")
	await(v1alpha1.DeploymentProgressing, v1alpha1.ReasonRollingOut)
	testenv.Eventually(t, func() (bool, string) {
		got := p.clm("status", "odeploy/web")
		settled := strings.Contains(got.stdout, "cannot be scheduled") && strings.Contains(got.stdout, "web-1  Archived") && strings.Count(got.stdout, "web: .status.updatedReplicas is 1") == 1
		return settled, got.stdout + got.stderr
	})
	const broken = `Deployment PLACE/web: .status.updatedReplicas is 1, and .status.replicas is 2`
	p.ends([]string{"status", "odeploy/web"}, exitNotReady, "ObjectDeployment PLACE/web\n", "Available:    False, ObjectSetUnavailable\n", `Set web-2: Phase "deploy": `+broken,
		"2         web-2  Active    False      -          2", "to broken\n", "deploy    1        1        0          0", "cannot be scheduled",
		"REVISION  SET    STATE", "1         web-1  Archived  -          True       2")
	p.ends([]string{"tree", "ObjectDeployment/web"}, 0, "set web-2, revision 2, Active\n", "ConfigMap PLACE/settings  Current", "└─ ReplicaSet web-", "   └─ Pod web-")
	p.ends([]string{"events", "odeploy/web", "--types", "Warning"}, 0, "FailedScheduling")
	p.ends([]string{"status", "oset/web-1"}, exitNotReady, "ObjectSet PLACE/web-1\n", "Archived:     True, Archived\n")
	p.ends([]string{"tree", "objectsets/web-2", "-o", "yaml"}, 0, "kind: ObjectSetStatus", "name: web-2", "kind: ReplicaSet")
	p.ends([]string{"tree", "objectsets/web-2", "-o", "name"}, 0, "configmap/settings\n", "deployment.apps/web\n", "pod/web-")

	// What cannot be done is said before anything is written.
	p.ends([]string{"rollback", "odeploy/web", "7"}, 1, "ObjectDeployment PLACE/web: spec.rollbackTo.revision: invalid value 7; must be one of: 2, 1")
	p.ends([]string{"rollback", "oset/web-1"}, 1, "ObjectSet PLACE/web-1 is a set; only deployments can be rolled back")
	p.ends([]string{"status", "odeploy/web", "-o", "json"}, exitNotReady, `"state": "Active"`, `"state": "Archived"`)
	p.ends([]string{"rollback", "odeploy/web", "--adopt=always"}, exitRefused, "flag --adopt: only for releases; odeploy/web is rolled back by its operator")
	p.ends([]string{"rollback", "configmaps/settings"}, exitRefused, "ConfigMap PLACE/settings: only releases and ObjectDeployments can be rolled back")
	p.ends([]string{"status", "oset/none"}, 1, `objectsets.core.component-operator.dev "none" not found`)
	p.ends([]string{"rollback", "odeploy/web", "2", "--no-wait"}, 0, "ObjectDeployment PLACE/web: nothing to roll back: the template is already that of set web-2\n")
	p.ends([]string{"rollback", "odeploy/web", "--timeout", "1ms"}, exitNotReady, "timed out after 1ms; last status:")

	p.ends([]string{"rollback", "odeploy/web", "1"}, 0, "ObjectDeployment PLACE/web: ", "set web-1", "Idle: Set web-", "2 of 2 objects in 2 phases are available\n")
	p.ends([]string{"status", "odeploy/web"}, 0, "Available:    True, Available\n", "to one\n")
	if got := p.configMap("settings")["image"]; got != "one" {
		t.Errorf("the image is %s", got)
	}
	if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	if web.Annotations[v1alpha1.AnnotationChangeCause] != "to one" {
		t.Errorf("the change cause is %q", web.Annotations[v1alpha1.AnnotationChangeCause])
	}

	// Paused, nothing would be done.
	if err := clnt.Patch(t.Context(), web, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":true}}`))); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
			return false, err.Error()
		}
		paused := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.DeploymentPaused)
		return paused != nil && strings.HasPrefix(paused.Message, "No set is"), "the sets are not paused"
	})
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "settings"}}
	if err := clnt.Delete(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
			return false, err.Error()
		}
		progressing := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.DeploymentProgressing)
		return strings.Contains(progressing.Message, "1 held back"), progressing.Message
	})
	p.ends([]string{"status", "objectdeployments.core.component-operator.dev/web"}, exitNotReady, "Paused:       True, Paused\n", "1 held back")
	p.ends([]string{"rollback", "odeploy/web"}, exitRefused, "ObjectDeployment PLACE/web is paused; set spec.paused to false first")
	if err := clnt.Delete(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		return apierrors.IsNotFound(clnt.Get(t.Context(), client.ObjectKeyFromObject(web), web)), "the deployment still exists"
	})
}

// ends runs clm, which has to end with a code and to print the texts.
func (p *place) ends(args []string, code int, texts ...string) {
	p.Helper()
	p.expect(p.clm(args...), code, texts...)
}
