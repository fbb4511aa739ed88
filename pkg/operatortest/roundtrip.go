// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/randfill"
)

// roundTrips is how many objects are converted in each direction.
const roundTrips = 200

// RoundTrip checks that nothing is lost between a version of an API and the one that is stored. It fills objects with random values, which are the same in each run, converts
// them to the other version and back, and compares their JSON. It needs no Kubernetes.
//
// The given objects only say what the types are. Fillers are functions for types that need certain values, as package sigs.k8s.io/randfill has them: func(value *T, c
// randfill.Continue). They default to functions for the types of Kubernetes that need one.
func RoundTrip(tb testing.TB, version conversion.Convertible, stored conversion.Hub, fillers ...any) {
	tb.Helper()
	for seed := range int64(roundTrips) {
		if err := thereAndBack(filler(seed, fillers), version, stored); err != nil {
			tb.Errorf("%T is not the same after a conversion to %T and back: %v", version, stored, err)
			break
		}
	}
	for seed := range int64(roundTrips) {
		if err := backAndThere(filler(seed, fillers), version, stored); err != nil {
			tb.Errorf("%T is not the same after a conversion to %T and back: %v", stored, version, err)
			break
		}
	}
}

func thereAndBack(filler *randfill.Filler, version conversion.Convertible, stored conversion.Hub) error {
	before, between, after := another(version), another(stored), another(version)
	if err := fill(filler, before); err != nil {
		return err
	}
	if err := before.ConvertTo(between); err != nil {
		return err
	}
	if err := after.ConvertFrom(between); err != nil {
		return err
	}
	return compare(before, after)
}

func backAndThere(filler *randfill.Filler, version conversion.Convertible, stored conversion.Hub) error {
	before, between, after := another(stored), another(version), another(stored)
	if err := fill(filler, before); err != nil {
		return err
	}
	if err := between.ConvertFrom(before); err != nil {
		return err
	}
	if err := between.ConvertTo(after); err != nil {
		return err
	}
	return compare(before, after)
}

// another returns an empty object of the same type.
func another[T any](object T) T {
	return reflect.New(reflect.TypeOf(object).Elem()).Interface().(T) //nolint:errcheck,forcetypeassert // it is of that type
}

func filler(seed int64, fillers []any) *randfill.Filler {
	functions := func(serializer.CodecFactory) []any {
		return append([]any{
			func(value *apiextensionsv1.JSON, c randfill.Continue) { value.Raw = []byte(strconv.Itoa(c.Intn(1000))) },
			func(value *runtime.RawExtension, c randfill.Continue) {
				value.Raw = []byte(`{"number":` + strconv.Itoa(c.Intn(1000)) + `}`)
			},
		}, fillers...)
	}
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	return randfill.NewWithSeed(seed).NilChance(0.5).NumElements(1, 2).Funcs(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, functions)(codecs)...)
}

// fill gives the object random values, as they are after they were read from JSON.
func fill[T any](filler *randfill.Filler, object T) error {
	random := another(object)
	filler.Fill(random)
	content, err := json.Marshal(random)
	if err != nil {
		return fmt.Errorf("writing random values, which a filler may have to choose: %w", err)
	}
	if err := json.Unmarshal(content, object); err != nil {
		return fmt.Errorf("reading random values, which a filler may have to choose: %w", err)
	}
	return nil
}

func compare(before, after any) error {
	var texts [2]string
	for i, object := range []any{before, after} {
		content, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			return fmt.Errorf("writing a converted object: %w", err)
		}
		texts[i] = string(content)
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		return fmt.Errorf("before (-), after (+):\n%s", diff)
	}
	return nil
}
