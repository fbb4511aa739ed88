// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestCarrier(t *testing.T) {
	t.Parallel()
	var carrier Carrier
	carrier.Deliver()
	var group sync.WaitGroup
	for _, work := range []func(){func() {}, func() { panic("a mistake") }} {
		group.Go(func() {
			defer carrier.Catch()
			work()
		})
	}
	group.Wait()
	defer func() {
		// A second recovery keeps the place of the first one.
		caught := NewPanic(recover())
		if caught.Value != "a mistake" || !regexp.MustCompile(`^relay/relay_test\.go:\d+$`).MatchString(caught.Place) || !strings.Contains(string(caught.Stack), "TestCarrier") {
			t.Errorf("want the panic of the goroutine, got %v with stack %s", caught, caught.Stack)
		}
	}()
	carrier.Deliver()
	t.Error("want a panic")
}

func TestIsStandard(t *testing.T) {
	t.Parallel()
	modules := []string{"shop-operator", "tools/generator"}
	for function, want := range map[string]bool{
		"regexp.MustCompile":                     true,
		"net/http.(*Client).Do":                  true,
		"main.generate":                          false,
		"main.(*shop).generate.func1":            false,
		"maintenance.Run":                        true,
		"shop-operator/internal/gen.Generate":    false,
		"shop-operator.Generate":                 false,
		"shop-operators/internal/gen.Generate":   true,
		"tools/generator/templates.Render":       false,
		"github.com/example/shop/gen.Generate":   false,
		"example.io/shop.(*Generator).Generate":  false,
		"encoding/json.(*decodeState).unmarshal": true,
	} {
		if got := isStandard(function, modules); got != want {
			t.Errorf("%s: want %t, got %t", function, want, got)
		}
	}
}
