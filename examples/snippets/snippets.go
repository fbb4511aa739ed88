// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package snippets has the code of pages of the documentation, so that it is compiled. A test compares them line by
// line.
package snippets

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/component-operator/runtime/examples/snippets/v1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/generatortest"
	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/operator"
	"github.com/component-operator/runtime/pkg/operatortest"
	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// What the pages leave out.
var (
	_ = credentials

	chartFS, manifestsFS embed.FS
	name                 string
	content              []byte
	myGenerator          generator.Generator
	defaults             manifests.ParameterTransformer
	myoperator           operators
)

type operators struct{}

func (operators) New() operator.Operator { return nil }

func newGenerator() (manifests.Generator, error) { return myGenerator, nil }

// concepts/components.md

type ShopSpec struct {
	component.PlacementSpec     `json:",inline"`
	component.ImpersonationSpec `json:",inline"`

	Replicas          int32                         `json:"replicas,omitempty"`
	PasswordSecretRef *component.SecretKeyReference `json:"passwordSecretRef,omitempty" loadedAs:"password"`
}

func (s *ShopSpec) ToUnstructured() map[string]any { return component.ToUnstructured(s) }

type _ interface {
	Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)
}

// how-to/depend-on-other-components.md

type FrontendSpec struct {
	component.DependencySpec `json:",inline"`

	Backend component.ValueReference `json:"backend" loadedAs:"backendURL"`
}

// how-to/change-finalizers.md, how-to/run-several-replicas.md, how-to/restrict-tenants.md

var (
	finalizers = component.ReconcilerOptions{Finalizer: new("example.com/widgets"), FormerFinalizers: []string{"widgets.example.com"}}
	shards     = component.ReconcilerOptions{Sharding: &component.Sharding{Shards: 32}}
	tenants    = component.ReconcilerOptions{
		DefaultServiceAccount: new("deployer"),
		DisableLocalLookup:    true,
		AllowedTargets:        []string{"*.clusters.example.com:6443", "10.1.0.0/16"},
		AdoptionPolicy:        new(reconciler.AdoptionPolicyNever),
	}
)

// reference/readiness.md

type WebShopSpec struct{}

func (s *WebShopSpec) GetJudge() (status.Judge, error) {
	return probes.New([]probes.Probe{{
		Selector: probes.Selector{Kind: &probes.Kind{Group: "apps", Kind: "Deployment"}},
		Checks: []probes.Check{
			{Condition: &probes.Condition{Type: "Available"}},
			{FieldsEqual: &probes.FieldsEqual{FieldA: ".status.updatedReplicas", FieldB: ".status.replicas"}},
		},
	}}, status.NewAnalyzer("webshop.example.io", status.Options{}))
}

// concepts/helm.md, concepts/kustomize.md

func helmGenerator() (manifests.Generator, error) {
	generator, err := helm.New(chartFS, "chart", helm.Options{})
	return generator, err
}

func kustomizeGenerator() (manifests.Generator, error) {
	generator, err := kustomize.New(manifestsFS, "app", kustomize.Options{})
	return generator, err
}

// how-to/test-an-operator.md

func TestSample(t *testing.T) {
	t.Parallel()
	cluster := operatortest.Start(t, operatortest.Options{
		Operators: []operator.Operator{myoperator.New()},
		Chart:     "../../chart",
	})
	sample := operatortest.File(t, "../../examples/sample.yaml")[0]
	cluster.Apply(t, sample)
	cluster.WaitReady(t, sample)
	cluster.ExpectNoChanges(t)
	cluster.Delete(t, sample)
	cluster.WaitGone(t, sample)
}

// how-to/grant-permissions.md

func lacksRights(t *testing.T, cluster *operatortest.Cluster) {
	if denied := cluster.Rights().Denied; len(denied) > 0 {
		t.Errorf("the chart lacks rights: %s", strings.Join(denied, ", "))
	}
}

// how-to/wrap-a-chart.md

func ruledGenerator() (generator.Generator, error) {
	rendered, err := helm.New(chartFS, "chart", helm.Options{})
	if err != nil {
		return nil, err
	}
	rules, err := manifests.ParsePolicyRules(content)
	if err != nil {
		return nil, err
	}
	transformer, err := manifests.NewPolicyRulesObjectTransformer(rules)
	if err != nil {
		return nil, err
	}
	return rendered.WithObjectTransformer(transformer), nil
}

// concepts/transformers.md

func transformed(rules manifests.ObjectTransformer) generator.Generator {
	generator := manifests.NewGenerator(myGenerator).
		WithParameterTransformer(defaults).
		WithObjectTransformer(rules)
	return generator
}

func suspendable(chart generator.Generator) generator.Generator {
	generator := manifests.NewGenerator(chart).WithObjectTransformer(manifests.NewSuspensionObjectTransformer())
	return generator
}

func policyRules() (manifests.ObjectTransformer, error) {
	rules, err := manifests.ParsePolicyRules(content)
	if err != nil {
		return nil, err
	}
	transformer, err := manifests.NewPolicyRulesObjectTransformer(rules)
	return transformer, err
}

func hookTools() (manifests.ObjectTransformer, error) {
	transformer, err := manifests.NewHookTransformer(manifests.HookToolArgoCD, manifests.HookToolHelm)
	return transformer, err
}

func tiers() any {
	byTier := manifests.ContextObjectTransformerFunc(
		func(ctx context.Context, namespace, name string, objects []client.Object) ([]client.Object, error) {
			shop, err := component.ComponentFromContext(ctx)
			// ...
			_ = shop
			return objects, err
		})
	return byTier
}

var shops = myGenerator

func TestGenerate(t *testing.T) {
	generatortest.Run(t, generatortest.Suite{Generator: shops, ReconcilerName: "shop.example.io"},
		generatortest.Case{Name: "least", Parameters: &v1alpha1.ShopSpec{}},
		generatortest.Case{Name: "upgrade", Parameters: &v1alpha1.ShopSpec{Size: 3}, Revision: 2, Installed: true},
		generatortest.Case{Name: "too-large", Parameters: &v1alpha1.ShopSpec{Size: 99}, Err: "size"},
	)
}

func TestReferences(t *testing.T) {
	generatortest.Run(t, generatortest.Suite{Generator: shops},
		generatortest.Case{
			Name:       "password",
			Parameters: &v1alpha1.ShopSpec{PasswordSecretRef: &component.SecretKeyReference{Name: "db"}},
			References: []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}, StringData: map[string]string{"password": "for tests"}}},
		},
	)
}

// reference/annotations.md

func annotated(ctx context.Context, job *batchv1.Job) error {
	err := generator.Annotate(ctx, job, types.AnnotationKeySuffixApplyOrder, "-1")
	return err
}

func credentials(ctx context.Context, _, name string, parameters types.Unstructurable) ([]client.Object, error) {
	source, err := generator.SecretsFromContext(ctx)
	if err != nil {
		return nil, err
	}
	// A user who changes spec.passwordVersion gets another password.
	version := fmt.Sprint(parameters.ToUnstructured()["passwordVersion"])
	password, err := source.Password("database/"+version, secrets.PasswordOptions{Length: 24})
	if err != nil {
		return nil, err
	}
	authority, err := source.Authority("ca", secrets.AuthorityOptions{})
	if err != nil {
		return nil, err
	}
	pair, err := authority.Sign("server", secrets.CertificateOptions{DNSNames: []string{name + ".shop.svc"}})
	if err != nil {
		return nil, err
	}
	return []client.Object{&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"password": []byte(password), "ca.crt": pair.CA, "tls.crt": pair.Certificate, "tls.key": pair.PrivateKey},
	}}, nil
}
