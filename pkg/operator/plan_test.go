// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/operator"
	"github.com/component-operator/runtime/pkg/types"
)

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.operator-test.example.io}
spec:
  group: operator-test.example.io
  scope: Namespaced
  names: {kind: Shop, listKind: ShopList, plural: shops, singular: shop}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// Shop is a component.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ShopSpec         `json:"spec,omitempty"`
	Status component.Status `json:"status,omitempty"`
}

// ShopSpec has the tier of a shop.
type ShopSpec struct {
	Tier string `json:"tier,omitempty"`
}

// ToUnstructured returns the parameters.
func (s *ShopSpec) ToUnstructured() map[string]any { return map[string]any{"tier": s.Tier} }

func (s *Shop) GetSpec() types.Unstructurable { return &s.Spec }

func (s *Shop) GetStatus() *component.Status { return &s.Status }

func (s *Shop) DeepCopyObject() runtime.Object {
	copied := &Shop{TypeMeta: s.TypeMeta, Spec: s.Spec}
	s.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	s.Status.DeepCopyInto(&copied.Status)
	return copied
}

// ShopList is a list of shops.
type ShopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Shop `json:"items"`
}

func (l *ShopList) DeepCopyObject() runtime.Object {
	copied := &ShopList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Shop))
	}
	return copied
}

// shops is an operator for shops, in one of its versions. Version 2 adds a label to the selectors of the tier "gold",
// which is immutable.
type shops struct {
	name    string
	version int
}

func (o *shops) GetName() string { return o.name }

func (o *shops) InitScheme(scheme *runtime.Scheme) {
	group := schema.GroupVersion{Group: "operator-test.example.io", Version: "v1"}
	scheme.AddKnownTypes(group, &Shop{}, &ShopList{})
	metav1.AddToGroupVersion(scheme, group)
}

func (o *shops) InitFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.version, "shop-version", o.version, "version of the generator")
}

func (o *shops) ValidateFlags() error {
	if o.version > 9 {
		return fmt.Errorf("--shop-version %d: must be at most 9", o.version)
	}
	return nil
}

func (o *shops) GetUncacheableTypes() []client.Object { return nil }

func (o *shops) Setup(mgr ctrl.Manager) error {
	return component.NewReconciler[*Shop](o.name, o, component.ReconcilerOptions{}).SetupWithManager(mgr)
}

// Fingerprint makes the generator pure.
func (o *shops) Fingerprint() string { return fmt.Sprint("shops ", o.version) }

// Generate returns a Deployment and a Secret.
func (o *shops) Generate(_ context.Context, _ string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	labels := map[string]string{"app": name}
	if o.version > 1 && parameters.ToUnstructured()["tier"] == "gold" {
		labels["tier"] = "gold"
	}
	return []client.Object{
		&appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: name + "-web"},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: fmt.Sprintf("example.org/web:%d", o.version)}}},
			}},
		},
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			StringData: map[string]string{"password": fmt.Sprint("sesame-", o.version)},
		},
	}, nil
}

var _ generator.Pure = &shops{}

// planned runs the command.
func planned(t *testing.T, o *shops, arguments ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = operator.Plan(t.Context(), []operator.Operator{o}, append(arguments, "--kubeconfig", testenv.Kubeconfig(t)), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestPlan asks version 2 of an operator what it would do with 40 components of version 1, five of which it would break.
func TestPlan(t *testing.T) {
	t.Parallel()
	name := testenv.UniqueName(t) + ".example.io"
	namespace := testenv.Namespace(t)
	scheme := testenv.Scheme(t)
	running := &shops{name: name, version: 1}
	running.InitScheme(scheme)
	clnt, err := client.New(testenv.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range testenv.Objects(t, definition) {
		if err := clnt.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = clnt.Delete(context.WithoutCancel(t.Context()), object) })
		established(t, clnt, object)
	}
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Setup(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	const count = 40
	var broken []string
	for i := range count {
		shop := &Shop{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("shop-%02d", i)}}
		if i%8 == 3 {
			shop.Spec.Tier = "gold"
			broken = append(broken, namespace+"/"+shop.Name)
		}
		if err := clnt.Create(t.Context(), shop); err != nil {
			t.Fatal(err)
		}
	}
	versions := func() []string {
		list := &ShopList{}
		var found []string
		deployments := &appsv1.DeploymentList{}
		for _, each := range []client.ObjectList{list, deployments} {
			if err := clnt.List(t.Context(), each, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
		}
		for _, shop := range list.Items {
			if len(shop.Status.Inventory) != 2 || shop.Status.ObservedGeneration != shop.Generation {
				return nil
			}
			found = append(found, shop.ResourceVersion)
		}
		for _, deployment := range deployments.Items {
			found = append(found, deployment.ResourceVersion)
		}
		return found
	}
	var before []string
	testenv.Eventually(t, func() (bool, string) {
		former := before
		before = versions()
		return len(before) == 2*count && slices.Equal(former, before), fmt.Sprint(len(before))
	})

	next := &shops{name: name, version: 2}
	code, out, errOut := planned(t, next, "-n", namespace, "-o", "json")
	if code != 4 || errOut != "" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	var result struct {
		Groups []struct {
			Components []string
			Changes    []struct{ Object, Action, Refusal string }
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(result.Groups) != 2 || !slices.Equal(result.Groups[0].Components, broken) || len(result.Groups[1].Components) != count-len(broken) {
		t.Fatalf("want the groups of %q, and of all others; got:\n%s", broken, out)
	}
	if changes := result.Groups[0].Changes; len(changes) != 2 || !strings.Contains(changes[1].Refusal, "field is immutable") {
		t.Errorf("the changes are %q", changes)
	}
	if !slices.Equal(before, versions()) {
		t.Error("the plan has changed components or dependents")
	}

	_, out, _ = planned(t, next, "shop-00", "-n", namespace)
	for _, want := range []string{
		"1 component of kind Shop.operator-test.example.io: 2 to update\n", "~ Deployment " + namespace + "/shop-00-web",
		"- image: example.org/web:1\n", "+ image: example.org/web:2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
	_, out, _ = planned(t, next, "-n", namespace, "-o", "markdown", "--diff")
	for _, want := range []string{"### 40 components\n", "35 components of kind Shop.operator-test.example.io: 2 to update\n", "```diff\n~ Secret NAME  (update", "! Deployment NAME-web", "@@ spec.template.spec.containers"} {
		if !strings.Contains(out, want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "sesame") {
		t.Errorf("the output has the value of a Secret:\n%s", out)
	}
	// The version that runs would change nothing.
	if code, out, errOut = planned(t, &shops{name: name, version: 1}, "-n", namespace, "--exit-code"); code != 0 || !strings.Contains(out, "40 components of kind Shop.operator-test.example.io: unchanged") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
	if code, out, errOut = planned(t, next, "-n", namespace, "shop-00", "--exit-code"); code != 2 {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
	if err := clnt.DeleteAllOf(t.Context(), &Shop{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() (bool, string) {
		list := &ShopList{}
		err := clnt.List(t.Context(), list, client.InNamespace(namespace))
		return err == nil && len(list.Items) == 0, fmt.Sprint(len(list.Items), err)
	})
}

func established(t *testing.T, clnt client.Client, definition *unstructured.Unstructured) {
	t.Helper()
	testenv.Eventually(t, func() (bool, string) {
		if err := clnt.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(condition any) bool {
			fields, _ := condition.(map[string]any)
			return fields["type"] == "Established" && fields["status"] == "True"
		}), "the definition is not established"
	})
}

// TestPlanRefusesBadInput names flag and value.
func TestPlanRefusesBadInput(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"-o", "table"}, `-o "table": must be one of: text, json, yaml, markdown`},
		{[]string{"-A", "-n", "shop"}, "-A and -n exclude each other"},
		{[]string{"--shop-version", "12"}, "--shop-version 12: must be at most 9"},
		{[]string{"--frobnicate"}, "flag provided but not defined: -frobnicate"},
	} {
		code, out, errOut := planned(t, &shops{name: "shop.example.io"}, tc.arguments...)
		if code != 1 || out != "" || !strings.Contains(errOut, tc.want) {
			t.Errorf("%q: exit code %d, want %q, got %q", tc.arguments, code, tc.want, errOut)
		}
	}
}
