// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// constructors are the constructors of all editors, by name.
var constructors = map[string]any{
	"NewBindingSubjectsEditor":              editors.NewBindingSubjectsEditor,
	"NewConfigMapDataEditor":                editors.NewConfigMapDataEditor,
	"NewContainerEditor":                    editors.NewContainerEditor,
	"NewCronJobSpecEditor":                  editors.NewCronJobSpecEditor,
	"NewCustomResourceDefinitionSpecEditor": editors.NewCustomResourceDefinitionSpecEditor,
	"NewDaemonSetSpecEditor":                editors.NewDaemonSetSpecEditor,
	"NewDeploymentSpecEditor":               editors.NewDeploymentSpecEditor,
	"NewHPASpecEditor":                      editors.NewHPASpecEditor,
	"NewIngressSpecEditor":                  editors.NewIngressSpecEditor,
	"NewJobSpecEditor":                      editors.NewJobSpecEditor,
	"NewNetworkPolicySpecEditor":            editors.NewNetworkPolicySpecEditor,
	"NewObjectMetaEditor":                   editors.NewObjectMetaEditor,
	"NewPodDisruptionBudgetSpecEditor":      editors.NewPodDisruptionBudgetSpecEditor,
	"NewPodSpecEditor":                      editors.NewPodSpecEditor,
	"NewPolicyRulesEditor":                  editors.NewPolicyRulesEditor,
	"NewPVCSpecEditor":                      editors.NewPVCSpecEditor,
	"NewPVSpecEditor":                       editors.NewPVSpecEditor,
	"NewReplicaSetSpecEditor":               editors.NewReplicaSetSpecEditor,
	"NewSecretDataEditor":                   editors.NewSecretDataEditor,
	"NewServiceSpecEditor":                  editors.NewServiceSpecEditor,
	"NewStatefulSetSpecEditor":              editors.NewStatefulSetSpecEditor,
	"NewUnstructuredContentEditor":          editors.NewUnstructuredContentEditor,
}

// TestAllEditorsAreTested compares the list above with the sources: the tests below are for all editors, also for those to come.
func TestAllEditorsAreTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	constructor := regexp.MustCompile(`(?m)^func (New\w+)\(`)
	var found, listed []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range constructor.FindAllStringSubmatch(string(source), -1) {
			found = append(found, match[1])
		}
	}
	for name := range constructors {
		listed = append(listed, name)
	}
	slices.Sort(found)
	slices.Sort(listed)
	if diff := cmp.Diff(found, listed); diff != "" {
		t.Error(diff)
	}
}

// TestMethodsAreIdempotent calls each method once for one value, and twice for an equal one.
func TestMethodsAreIdempotent(t *testing.T) {
	t.Parallel()
	forEachMethod(t, func(t *testing.T, construct reflect.Value, method string, seed int64) {
		if strings.HasPrefix(method, "Add") || strings.HasPrefix(method, "Append") || method == "RemoveRuleByIndex" {
			return
		}
		once, twice := startValue(construct, seed), startValue(construct, seed)
		call(edit(construct, once), method, arguments(construct, method, seed))
		editor := edit(construct, twice)
		call(editor, method, arguments(construct, method, seed))
		call(editor, method, arguments(construct, method, seed))
		if diff := cmp.Diff(once.Interface(), twice.Interface()); diff != "" {
			t.Errorf("calling %s twice is not the same as calling it once (-once +twice)\n%s", method, diff)
		}
	})
}

// TestArgumentsAreCopied checks that the edited value shares no memory with an argument.
func TestArgumentsAreCopied(t *testing.T) {
	t.Parallel()
	forEachMethod(t, func(t *testing.T, construct reflect.Value, method string, seed int64) {
		value, args := startValue(construct, seed), arguments(construct, method, seed)
		before := arguments(construct, method, seed)
		call(edit(construct, value), method, args)
		edited := map[uintptr]bool{}
		visit(value, func(address uintptr) { edited[address] = true })
		for i, argument := range args {
			visit(argument, func(address uintptr) {
				if edited[address] {
					t.Errorf("the edited value shares memory with argument %d of %s", i, method)
				}
			})
			if argument.Kind() == reflect.Func {
				continue
			}
			if diff := cmp.Diff(before[i].Interface(), argument.Interface()); diff != "" {
				t.Errorf("%s changed argument %d (-want +got)\n%s", method, i, diff)
			}
		}
	})
}

// TestListsAreNotChangedInPlace checks that another object whose lists have the same memory keeps its items.
func TestListsAreNotChangedInPlace(t *testing.T) {
	t.Parallel()
	forEachMethod(t, func(t *testing.T, construct reflect.Value, method string, seed int64) {
		value, pristine := startValue(construct, seed), startValue(construct, seed)
		if value.Kind() != reflect.Pointer {
			return
		}
		other := reflect.New(value.Type().Elem())
		other.Elem().Set(value.Elem())
		call(edit(construct, value), method, arguments(construct, method, seed))
		expected := lists(pristine.Elem())
		for i, list := range lists(other.Elem()) {
			if diff := cmp.Diff(expected[i], list); diff != "" {
				t.Errorf("%s changed a list in place (-want +got)\n%s", method, diff)
			}
		}
	})
}

// parts are lists of several objects.
type parts struct {
	Container corev1.Container
	Rules     []rbacv1.PolicyRule
	Subjects  []rbacv1.Subject
	Policy    networkingv1.NetworkPolicySpec
}

// with adds an item to each list.
func (p parts) with(name string) parts {
	ports := []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromString(name))}}
	editors.NewContainerEditor(&p.Container).EnsureArg(name)
	editors.NewPolicyRulesEditor(&p.Rules).AddRule(rbacv1.PolicyRule{Verbs: []string{name}})
	editors.NewBindingSubjectsEditor(&p.Subjects).EnsureSubject(rbacv1.Subject{Name: name})
	editors.NewNetworkPolicySpecEditor(&p.Policy).AppendIngressRule(networkingv1.NetworkPolicyIngressRule{Ports: ports})
	editors.NewNetworkPolicySpecEditor(&p.Policy).AppendEgressRule(networkingv1.NetworkPolicyEgressRule{Ports: ports})
	return p
}

// TestAppendingTakesNoSpareMemory appends to lists that share memory behind their last item.
func TestAppendingTakesNoSpareMemory(t *testing.T) {
	t.Parallel()
	shared := parts{
		Container: corev1.Container{Args: make([]string, 0, 2)},
		Rules:     make([]rbacv1.PolicyRule, 0, 2),
		Subjects:  make([]rbacv1.Subject, 0, 2),
		Policy: networkingv1.NetworkPolicySpec{
			Ingress: make([]networkingv1.NetworkPolicyIngressRule, 0, 2), Egress: make([]networkingv1.NetworkPolicyEgressRule, 0, 2),
		},
	}
	first, second := shared.with("a"), shared.with("b")
	if diff := cmp.Diff(parts{}.with("a"), first); diff != "" {
		t.Errorf("the object has changed with the other one (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(parts{}.with("b"), second); diff != "" {
		t.Errorf("the other object is wrong (-want +got)\n%s", diff)
	}
}

// lists returns all lists in a value that are reached without following a pointer.
func lists(value reflect.Value) []any {
	switch value.Kind() {
	case reflect.Slice:
		return []any{value.Interface()}
	case reflect.Struct:
		var found []any
		for field, content := range value.Fields() {
			if field.IsExported() {
				found = append(found, lists(content)...)
			}
		}
		return found
	default:
		return nil
	}
}

// TestMethodsAcceptNothing calls each method of an editor that was given nil: it makes the same as it makes of an empty value.
func TestMethodsAcceptNothing(t *testing.T) {
	t.Parallel()
	forEachMethod(t, func(t *testing.T, construct reflect.Value, method string, seed int64) {
		parameter := construct.Type().In(0)
		empty := reflect.MakeMap(reflect.TypeFor[map[string]any]())
		if parameter.Kind() == reflect.Pointer {
			empty = reflect.New(parameter.Elem())
		}
		ofNil, ofEmpty := edit(construct, reflect.Zero(parameter)), edit(construct, empty)
		call(ofNil, method, arguments(construct, method, seed))
		call(ofEmpty, method, arguments(construct, method, seed))
		if diff := cmp.Diff(raw(ofEmpty), raw(ofNil)); diff != "" {
			t.Errorf("%s (-empty +nil)\n%s", method, diff)
		}
	})
}
