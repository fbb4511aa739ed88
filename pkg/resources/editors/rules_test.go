// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// constructors are the constructors of all editors, by name. The tests below are for all their methods.
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
		if diff := gocmp.Diff(once.Interface(), twice.Interface()); diff != "" {
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
			if diff := gocmp.Diff(before[i].Interface(), argument.Interface()); diff != "" {
				t.Errorf("%s changed argument %d (-want +got)\n%s", method, i, diff)
			}
		}
	})
}

// TestSettersSetTheirField: a method SetX with one argument sets the field X, and no other one.
func TestSettersSetTheirField(t *testing.T) {
	t.Parallel()
	fields := map[string]string{"SetStorageRequest": "Resources"}
	forEachMethod(t, func(t *testing.T, construct reflect.Value, method string, seed int64) {
		before, after := startValue(construct, seed), startValue(construct, seed)
		args := arguments(construct, method, seed)
		name, isSetter := strings.CutPrefix(method, "Set")
		if !isSetter || len(args) != 1 || after.Kind() != reflect.Pointer || after.Elem().Kind() != reflect.Struct {
			return
		}
		call(edit(construct, after), method, args)
		field := after.Elem().FieldByName(cmp.Or(fields[method], name))
		if !field.IsValid() {
			t.Fatalf("%s: there is no field of that name", method)
		}
		if field.Kind() == reflect.Pointer && args[0].Kind() != reflect.Pointer && !reflect.DeepEqual(field.Elem().Interface(), args[0].Interface()) {
			t.Errorf("%s has set %v, not %v", method, field.Elem(), args[0])
		}
		if field.Type() == args[0].Type() && !equality.Semantic.DeepEqual(field.Interface(), args[0].Interface()) {
			t.Errorf("%s has set %v, not %v", method, field, args[0])
		}
		before.Elem().FieldByName(cmp.Or(fields[method], name)).Set(field)
		if diff := gocmp.Diff(before.Interface(), after.Interface()); diff != "" {
			t.Errorf("%s has changed another field (-before +after)\n%s", method, diff)
		}
	})
}
