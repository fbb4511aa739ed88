// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"reflect"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// uncovered are the fields of prepare.Effective that the digest need not cover, with the reason.
var uncovered = map[string]string{
	"ApplyOrder":          "only an annotation sets it, which is part of the content",
	"Hook":                "only an annotation sets it, which is part of the content",
	"IgnoreFields":        "only an annotation sets it, which is part of the content",
	"AwaitsType":          "only an annotation sets it, which is part of the content",
	"RecreateIfImmutable": "only an annotation sets it, which is part of the content",
	"PurgeOrder":          "only an annotation sets it, which is part of the content",
	"PurgeOnFailure":      "only an annotation sets it, which is part of the content",
	"DeleteOrder":         "only an annotation sets it, which is part of the content",
	"ReadsContent":        "only annotations set it, which are part of the content",
	"Unchecked":           "only an annotation sets it, which is part of the content",
	"AwaitNever":          "only an annotation sets it, which is part of the content",
	"ReadyTimeout":        "only an annotation sets it, which is part of the content",
	"Continues":           "only an annotation sets it, which is part of the content",
	"ReapplyInterval":     "it says when an object is verified, not what becomes of it",
}

// TestDigestCoversPolicies changes each policy of an object: a saved plan must notice that.
func TestDigestCoversPolicies(t *testing.T) {
	t.Parallel()
	before, err := digestOf("content", prepare.Effective{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{before: "no policy"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[prepare.Effective]()) {
		if uncovered[field.Name] != "" {
			continue
		}
		if field.Type.Kind() != reflect.String {
			t.Errorf("%s: the digest must cover the field, or this test must say why it need not", field.Name)
			continue
		}
		var changed prepare.Effective
		reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index).SetString("changed")
		after, err := digestOf("content", changed)
		if err != nil {
			t.Fatal(err)
		}
		if other := seen[after]; other != "" {
			t.Errorf("the digest with another %s equals the digest with %s", field.Name, other)
		}
		seen[after] = field.Name
	}
	if other, err := digestOf("other", prepare.Effective{}); err != nil || other == before {
		t.Errorf("the digest does not cover the content (%v)", err)
	}
}
