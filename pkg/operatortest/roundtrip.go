// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"encoding/json"
	"errors"
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

// RoundTrip checks that nothing is lost between a version of an API and the one that is stored. It fills objects with
// random values, which are the same in each run, converts them to the other version and back, and compares their JSON.
// It needs no Kubernetes.
//
// The given objects only say what the types are. Fillers are functions for types that need certain values, as package
// sigs.k8s.io/randfill has them: func(value *T, c randfill.Continue). They default to functions for the types of
// Kubernetes that need one.
func RoundTrip(tb testing.TB, version conversion.Convertible, stored conversion.Hub, fillers ...any) {
	tb.Helper()
	for seed := range int64(roundTrips) {
		first, between, last := another(version), another(stored), another(version)
		if err := fill(filler(seed, fillers), first); err != nil {
			tb.Fatal(err)
		}
		err := errors.Join(first.ConvertTo(between), last.ConvertFrom(between))
		if !isSame(tb, version, stored, first, last, err) {
			break
		}
	}
	for seed := range int64(roundTrips) {
		first, between, last := another(stored), another(version), another(stored)
		if err := fill(filler(seed, fillers), first); err != nil {
			tb.Fatal(err)
		}
		err := errors.Join(between.ConvertFrom(first), between.ConvertTo(last))
		if !isSame(tb, stored, version, first, last, err) {
			break
		}
	}
}

// isSame reports whether a conversion from one type to another and back has succeeded and lost nothing.
func isSame(tb testing.TB, from, to, before, after any, err error) bool {
	tb.Helper()
	var texts [2]string
	for i, object := range []any{before, after} {
		content, problem := json.MarshalIndent(object, "", "  ")
		err = errors.Join(err, problem)
		texts[i] = string(content)
	}
	if diff := cmp.Diff(texts[0], texts[1]); err != nil || diff != "" {
		tb.Errorf("%T is not the same after a conversion to %T and back: %v before (-), after (+):\n%s", from, to, err, diff)
		return false
	}
	return true
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
