// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// structsOfTheContract are the structs of testdata/contract.txt. Signatures and constants are checked by the file
// contract_test.go of each package.
var structsOfTheContract = []any{
	component.ClientSpec{},
	component.Condition{},
	component.ConfigMapKeyReference{},
	component.ConfigMapReference{},
	component.ImageSpec{},
	component.ImpersonationSpec{},
	component.IngressProperties{},
	component.KubeConfigSpec{},
	component.KubernetesContainerProperties{},
	component.KubernetesPodProperties{},
	component.KubernetesProperties{},
	component.PlacementSpec{},
	component.PolicySpec{},
	component.ReapplySpec{},
	component.ReconcilerOptions{},
	component.RequeueSpec{},
	component.RetrySpec{},
	component.SecretKeyReference{},
	component.SecretReference{},
	component.ServiceProperties{},
	component.Spec{},
	component.Status{},
	component.SuspensionSpec{},
	component.TimeoutSpec{},
	component.TypeSpec{},
	kustomize.KustomizeGeneratorOptions{},
	manifests.KustomizeImage{},
	manifests.KustomizePatch{},
	manifests.KustomizeSelector{},
	reconciler.InventoryItem{},
	reconciler.NameInfo{},
	reconciler.TypeInfo{},
	reconciler.TypeVersionInfo{},
}

// TestStructsOfTheContract keeps the fields and tags that existing operators, and the definitions of their components,
// rely on.
func TestStructsOfTheContract(t *testing.T) {
	t.Parallel()
	contract := readContract(t)
	for _, value := range structsOfTheContract {
		typ := reflect.TypeOf(value)
		name := contractual(typ.String())
		fields, listed := contract[name]
		if !listed {
			t.Errorf("testdata/contract.txt does not have %s", name)
		}
		delete(contract, name)
		tagged := false
		for _, want := range fields {
			tagged = tagged || strings.Contains(want, "json:")
			if !hasField(typ, want) {
				t.Errorf("%s has no field %s", name, want)
			}
		}
		for _, method := range []string{"DeepCopy", "DeepCopyInto"} {
			if _, found := reflect.PointerTo(typ).MethodByName(method); tagged && !found {
				t.Errorf("%s has no method %s, which generated code of API types calls", name, method)
			}
		}
	}
	for name := range contract {
		t.Errorf("structsOfTheContract does not have %s", name)
	}
}

// hasField reports whether a struct has a field of this name, type and tag. An embedded one is named by its type alone.
func hasField(typ reflect.Type, want string) bool {
	for field := range typ.Fields() {
		text := field.Name + " " + contractual(field.Type.String())
		if field.Anonymous {
			text = field.Name
		}
		if field.Tag != "" {
			text += " `" + string(field.Tag) + "`"
		}
		if text == want {
			return true
		}
	}
	return false
}

// contractual returns the text of a type as the contract has it: without the package of the struct, and with the usual
// names of others.
func contractual(typ string) string {
	return strings.NewReplacer("inventory.Item", "reconciler.InventoryItem", "inventory.", "reconciler.", "kustomize.Options", "kustomize.KustomizeGeneratorOptions").Replace(typ)
}

// qualifier finds what the contract writes differently from package reflect.
var qualifier = regexp.MustCompile(`^(\w+ [*\[\]]*)([A-Z]\w*)( |$)`)

// readContract returns the fields of each struct.
func readContract(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	contract, name := map[string][]string{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		field, isField := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isField:
			pkg, _, _ := strings.Cut(name, ".")
			field = strings.NewReplacer("metav1.", "v1.", "corev1.", "v1.", "ServiceExternalTrafficPolicyType", "ServiceExternalTrafficPolicy").Replace(field)
			contract[name] = append(contract[name], qualifier.ReplaceAllString(field, "${1}"+pkg+".$2$3"))
		default:
			name = line
		}
	}
	return contract
}
