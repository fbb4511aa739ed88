// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"testing"
)

func TestIsStandard(t *testing.T) {
	t.Parallel()
	for function, want := range map[string]bool{
		"regexp.MustCompile":                     true,
		"net/http.(*Client).Do":                  true,
		"main.generate":                          false,
		"main.(*shop).generate.func1":            false,
		"maintenance.Run":                        true,
		"github.com/example/shop/gen.Generate":   false,
		"example.io/shop.(*Generator).Generate":  false,
		"encoding/json.(*decodeState).unmarshal": true,
	} {
		if got := isStandard(function); got != want {
			t.Errorf("%s: want %t, got %t", function, want, got)
		}
	}
}
