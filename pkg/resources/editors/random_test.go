// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"
)

// seeds is how many random values and arguments each method is called with.
const seeds = 4

// forEachMethod calls test for each method of each editor, once for each seed.
func forEachMethod(t *testing.T, test func(t *testing.T, construct reflect.Value, method string, seed int64)) {
	t.Helper()
	for name, function := range constructors {
		construct := reflect.ValueOf(function)
		for method := range construct.Type().Out(0).Methods() {
			t.Run(strings.TrimPrefix(name, "New")+"/"+method.Name, func(t *testing.T) {
				t.Parallel()
				for seed := range int64(seeds) {
					test(t, construct, method.Name, seed)
				}
			})
		}
	}
}

// filler makes random values, the same for the same seed. Sometimes pointers are nil, maps and lists empty. Texts are
// few, so that items are often the same.
func filler(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(.3).NumElements(0, 3).MaxDepth(8).Funcs(
		func(text *string, c randfill.Continue) { *text = string(rune('a' + c.Intn(4))) },
		func(number *int32, c randfill.Continue) { *number = c.Int31n(3) },
		// The digits do not fit into an integer, so that there is something to share.
		func(quantity *resource.Quantity, _ randfill.Continue) {
			*quantity = resource.MustParse("12345678901234567890123")
		},
		func(content *map[string]any, c randfill.Continue) {
			*content = map[string]any{"a": map[string]any{"b": "x"}, "c": []any{c.Int63(), map[string]any{"d": true}}}
		},
		func(list *[]any, c randfill.Continue) { *list = []any{c.Int63(), map[string]any{"d": []any{"x"}}} },
		func(value *any, c randfill.Continue) { *value = []any{c.Int63(), map[string]any{"d": []any{"x"}}} },
	)
}

// startValue makes the argument of a constructor.
func startValue(construct reflect.Value, seed int64) reflect.Value {
	parameter := construct.Type().In(0)
	if parameter.Kind() != reflect.Pointer {
		filled := reflect.New(parameter)
		filler(seed).Fill(filled.Interface())
		return filled.Elem()
	}
	filled := reflect.New(parameter.Elem())
	filler(seed).Fill(filled.Interface())
	return filled
}

// arguments makes arguments for a method.
func arguments(construct reflect.Value, method string, seed int64) []reflect.Value {
	function, _ := construct.Type().Out(0).MethodByName(method)
	random := filler(seed + seeds)
	var made []reflect.Value
	for parameter := range function.Type.Ins() {
		if parameter == construct.Type().Out(0) {
			continue
		}
		argument := reflect.New(parameter)
		if parameter.Kind() != reflect.Func {
			random.Fill(argument.Interface())
		}
		made = append(made, argument.Elem())
	}
	return made
}

func edit(construct, value reflect.Value) reflect.Value {
	return construct.Call([]reflect.Value{value})[0]
}

// call calls a method. Errors do not matter: the random content might not have the field that the random path leads
// through.
func call(editor reflect.Value, method string, args []reflect.Value) {
	function := editor.MethodByName(method)
	if function.Type().IsVariadic() {
		function.CallSlice(args)
		return
	}
	function.Call(args)
}

// visit calls note with the addresses of all memory that a value refers to, apart from what never changes. Values
// without size have no memory of their own.
func visit(value reflect.Value, note func(address uintptr)) {
	if value.Kind() != reflect.Invalid && value.Type() == reflect.TypeFor[*time.Location]() {
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() && value.Type().Elem().Size() > 0 {
			note(value.Pointer())
			visit(value.Elem(), note)
		}
	case reflect.Interface:
		visit(value.Elem(), note)
	case reflect.Map:
		if !value.IsNil() {
			note(value.Pointer())
		}
		for _, entry := range value.Seq2() {
			visit(entry, note)
		}
	case reflect.Slice:
		if value.Cap() > 0 && value.Type().Elem().Size() > 0 {
			note(value.Pointer())
		}
		for i := range value.Len() {
			visit(value.Index(i), note)
		}
	case reflect.Struct:
		for _, field := range value.Fields() {
			visit(field, note)
		}
	default:
		// Other kinds refer to nothing that could be changed.
	}
}
