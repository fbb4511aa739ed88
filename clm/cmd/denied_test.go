// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// guard has something stand before requests to change ConfigMaps of the namespace, and waits until it answers.
func (p *place) guard(probe func(p *place, object client.Object) error, answer string, guards ...client.Object) {
	p.Helper()
	for _, guard := range guards {
		guard.SetName(p.namespace)
		if err := p.client.Create(p.Context(), guard); err != nil {
			p.Fatal(err)
		}
		p.Cleanup(func() {
			if err := p.client.Delete(context.WithoutCancel(p.Context()), guard); err != nil {
				p.Error(err)
			}
		})
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "kube-root-ca.crt"}}
	testenv.Eventually(p, func() (bool, string) {
		err := probe(p, object)
		return err != nil && strings.Contains(err.Error(), answer), fmt.Sprint(err)
	})
}

// operationsOnConfigMaps selects requests of the namespace.
func (p *place) operationsOnConfigMaps(operation admissionv1.OperationType) (admissionv1.RuleWithOperations, *metav1.LabelSelector) {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{operation},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}, &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": p.namespace}}
}

// TestDeniedPruneIsReportedAtOnce has admission deny that what is no longer in the manifests is deleted.
func TestDeniedPruneIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")+configMap("c", "1")))
	rule, selector := p.operationsOnConfigMaps(admissionv1.Delete)
	deletion := func(p *place, object client.Object) error {
		return p.client.Delete(p.Context(), object, client.DryRunAll)
	}
	p.guard(deletion, "not on Fridays", &admissionv1.ValidatingAdmissionPolicy{Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: selector, ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
		},
		Validations: []admissionv1.Validation{{Expression: "false", Message: "not on Fridays"}},
	}}, &admissionv1.ValidatingAdmissionPolicyBinding{Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: p.namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}})
	got := p.clm("apply", "web", p.file("app.yaml", configMap("a", "2")), "--timeout", "10s")
	p.expect(got, 1, "denied request: not on Fridays", "PLACE/b", "PLACE/c")
	status := p.clm("status", "web")
	p.expect(status, exitNotReady, "State:      Failed", "Message:    ")
	about := 0
	for line := range strings.Lines(status.stdout) {
		if strings.Contains(line, "denied request: not on Fridays") {
			about++
			if strings.Count(line, "not on Fridays") != 1 {
				t.Errorf("want one error a line, got %s", line)
			}
		}
	}
	if about != 2 {
		t.Errorf("want two errors, one a line, got:\n%s", status.stdout)
	}
	p.expect(p.clm("delete", "web", "--timeout", "10s"), 1, "denied request: not on Fridays")
	p.expect(p.clm("status", "web"), exitNotReady, "State:      Deleting", "denied request: not on Fridays")
}
