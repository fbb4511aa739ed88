// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/clusterrole"
	"github.com/component-operator/runtime/pkg/resources/clusterrolebinding"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/crd"
	"github.com/component-operator/runtime/pkg/resources/cronjob"
	"github.com/component-operator/runtime/pkg/resources/daemonset"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/hpa"
	"github.com/component-operator/runtime/pkg/resources/ingress"
	"github.com/component-operator/runtime/pkg/resources/job"
	"github.com/component-operator/runtime/pkg/resources/namespace"
	"github.com/component-operator/runtime/pkg/resources/networkpolicy"
	"github.com/component-operator/runtime/pkg/resources/pdb"
	"github.com/component-operator/runtime/pkg/resources/pod"
	"github.com/component-operator/runtime/pkg/resources/pv"
	"github.com/component-operator/runtime/pkg/resources/pvc"
	"github.com/component-operator/runtime/pkg/resources/replicaset"
	"github.com/component-operator/runtime/pkg/resources/role"
	"github.com/component-operator/runtime/pkg/resources/rolebinding"
	"github.com/component-operator/runtime/pkg/resources/secret"
	"github.com/component-operator/runtime/pkg/resources/service"
	"github.com/component-operator/runtime/pkg/resources/serviceaccount"
	"github.com/component-operator/runtime/pkg/resources/statefulset"
)

// typedResource is what all typed resources can do.
type typedResource interface {
	resources.Resource
	concepts.Suspendable
	concepts.Registered
}

// kindRow is a kind with all that the page says about it.
type kindRow struct {
	mutator      any // a pointer to the Mutator of the package
	resource     typedResource
	ready, fails string // when objects are ready, and when they have failed
}

func row[R typedResource](mutator any, build func() (R, error), ready, fails string) kindRow {
	resource, err := build()
	if err != nil {
		panic(err) // the objects of kindRows can be built
	}
	return kindRow{mutator: mutator, resource: resource, ready: ready, fails: fails}
}

const (
	atOnce  = "it is applied"
	never   = "never"
	pods    = "the controller has observed the spec, all pods are updated and ready, and no others are left"
	address = "it is applied; after `AwaitAddress`: it has an address"
)

// kindRows returns the kinds in the order of the page.
func kindRows() []kindRow {
	meta, global := named("x"), metav1.ObjectMeta{Name: "x"}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "x"}
	return []kindRow{
		row(&deployment.Mutator{}, deployment.NewBuilder(&appsv1.Deployment{ObjectMeta: meta}).Build, pods, "`ProgressDeadlineExceeded`, `ReplicaFailure`"),
		row(&replicaset.Mutator{}, replicaset.NewBuilder(&appsv1.ReplicaSet{ObjectMeta: meta}).Build, "the controller has observed the spec, all pods are ready, and none is too many", "`ReplicaFailure`"),
		row(&statefulset.Mutator{}, statefulset.NewBuilder(&appsv1.StatefulSet{ObjectMeta: meta}).Build, pods+"; with a partition or `OnDelete`, all pods that must be updated are", never),
		row(&daemonset.Mutator{}, daemonset.NewBuilder(&appsv1.DaemonSet{ObjectMeta: meta}).Build, "the controller has observed the spec, and the pods on all its nodes are ready and, unless `OnDelete`, updated", never),
		row(&pod.Mutator{}, pod.NewBuilder(&corev1.Pod{ObjectMeta: meta}).Build, "all containers are ready, or have succeeded", "it has failed, `CrashLoopBackOff`, a container has ended with an error and is not restarted"),
		row(&job.Mutator{}, job.NewBuilder(&batchv1.Job{ObjectMeta: meta}).Build, "`Complete` is True", "`Failed` is True"),
		row(&cronjob.Mutator{}, cronjob.NewBuilder(&batchv1.CronJob{ObjectMeta: meta}).Build, atOnce, never),
		row(&service.Mutator{}, service.NewBuilder(&corev1.Service{ObjectMeta: meta}).Build, "it is applied and, if its type is `LoadBalancer`, has an address", never),
		row(&ingress.Mutator{}, ingress.NewBuilder(&networkingv1.Ingress{ObjectMeta: meta}).Build, address, never),
		row(&hpa.Mutator{}, hpa.NewBuilder(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta}).Build, "`ScalingActive` is True", "`AbleToScale` or `ScalingActive` is False"),
		row(&pvc.Mutator{}, pvc.NewBuilder(&corev1.PersistentVolumeClaim{ObjectMeta: meta}).Build, "it is bound", "it has lost its volume"),
		row(&pv.Mutator{}, pv.NewBuilder(&corev1.PersistentVolume{ObjectMeta: global}).Build, "it is available or bound", "it is released, or has failed"),
		row(&crd.Mutator{}, crd.NewBuilder(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: global}).Build, "`Established` is True", "`NamesAccepted` is False"),
		row(&configmap.Mutator{}, configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: meta}).Build, "", ""),
		row(&secret.Mutator{}, secret.NewBuilder(&corev1.Secret{ObjectMeta: meta}).Build, "", ""),
		row(&serviceaccount.Mutator{}, serviceaccount.NewBuilder(&corev1.ServiceAccount{ObjectMeta: meta}).Build, "", ""),
		row(&role.Mutator{}, role.NewBuilder(&rbacv1.Role{ObjectMeta: meta}).Build, "", ""),
		row(&clusterrole.Mutator{}, clusterrole.NewBuilder(&rbacv1.ClusterRole{ObjectMeta: global}).Build, "", ""),
		row(&rolebinding.Mutator{}, rolebinding.NewBuilder(&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref}).Build, "", ""),
		row(&clusterrolebinding.Mutator{}, clusterrolebinding.NewBuilder(&rbacv1.ClusterRoleBinding{ObjectMeta: global, RoleRef: ref}).Build, "", ""),
		row(&pdb.Mutator{}, pdb.NewBuilder(&policyv1.PodDisruptionBudget{ObjectMeta: meta}).Build, "", ""),
		row(&networkpolicy.Mutator{}, networkpolicy.NewBuilder(&networkingv1.NetworkPolicy{ObjectMeta: meta}).Build, "", ""),
		row(&namespace.Mutator{}, namespace.NewBuilder(&corev1.Namespace{ObjectMeta: global}).Build, "", ""),
	}
}

// kind returns the kind of the objects.
func (r kindRow) kind(tb testing.TB) string {
	tb.Helper()
	object, err := r.resource.Object()
	if err != nil {
		tb.Fatal(err)
	}
	return object.GetObjectKind().GroupVersionKind().Kind
}

// kindsTable lists the packages, and the methods of their mutators that others do not have.
func kindsTable(tb testing.TB) string {
	tb.Helper()
	common := map[string]bool{}
	template := reflect.TypeFor[*deployment.Mutator]()
	for method := range template.Methods() {
		common[method.Name] = !slices.Contains([]string{"EditDeploymentSpec", "EnsureReplicas"}, method.Name)
	}
	rows := [][]string{{"Kind", "Package", "Methods of its mutator, besides `EditObjectMetadata`"}}
	for _, r := range kindRows() {
		of := reflect.TypeOf(r.mutator)
		var methods []string
		for method := range of.Methods() {
			if !common[method.Name] {
				methods = append(methods, "`"+method.Name+"`")
			}
		}
		if _, ok := of.MethodByName("EditPodTemplateMetadata"); ok {
			methods = append(methods, "those of a pod template")
		} else if _, ok := of.MethodByName("EditPodSpec"); ok {
			methods = append(methods, "those of a pod")
		}
		rows = append(rows, []string{r.kind(tb), "`" + strings.TrimSuffix(strings.TrimPrefix(of.String(), "*"), ".Mutator") + "`", strings.Join(methods, ", ")})
	}
	return markdown(rows...)
}

// statusesTable lists what is known of the life of each kind.
func statusesTable(tb testing.TB) string {
	tb.Helper()
	rows := [][]string{{"Kind", "Interface", "Ready when", "Failing when", "Suspended form"}}
	var judged []string
	for _, r := range kindRows() {
		if !r.resource.Registration().Judged {
			judged = append(judged, r.kind(tb))
			continue
		}
		rows = append(rows, []string{r.kind(tb), converging(r.resource), r.ready, r.fails, suspendedForm(tb, r.resource)})
	}
	return markdown(append(rows, []string{strings.Join(judged, ", "), "judged by the component", "the component's judge says so: usually when it is applied", "likewise", "none"})...)
}

func converging(resource resources.Resource) string {
	switch resource.(type) {
	case concepts.Alive:
		return "Alive"
	case concepts.Completable:
		return "Completable"
	default:
		return "Operational"
	}
}

// suspendedForm says how the suspended form differs.
func suspendedForm(tb testing.TB, resource typedResource) string {
	tb.Helper()
	if !resource.Registration().Suspendable {
		return "none"
	}
	active, suspended := specOf(tb, resource, false), specOf(tb, resource, true)
	var changes []string
	for _, field := range slices.Sorted(maps.Keys(suspended)) {
		if !reflect.DeepEqual(active[field], suspended[field]) {
			changes = append(changes, fmt.Sprintf("`spec.%s: %v`", field, suspended[field]))
		}
	}
	if resource.DeleteOnSuspend() {
		changes = append(changes, "deleted")
	}
	return strings.Join(changes, ", then ")
}

func specOf(tb testing.TB, resource typedResource, suspended bool) map[string]any {
	tb.Helper()
	if suspended {
		if err := resource.Suspend(); err != nil {
			tb.Fatal(err)
		}
	}
	object, err := resource.Object()
	if err != nil {
		tb.Fatal(err)
	}
	object, _ = reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if err := resource.Mutate(object); err != nil {
		tb.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		tb.Fatal(err)
	}
	spec, _ := content["spec"].(map[string]any)
	return spec
}
