// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"testing"

	"github.com/component-operator/runtime/internal/manifest"
)

func TestKeyedDigests(t *testing.T) {
	t.Parallel()
	one, other := secretUIDs{"spec.a": "1", "spec.b": "2"}, secretUIDs{"spec.a": "1", "spec.b": "3"}
	key := one.key()
	for _, test := range []struct {
		reason     string
		uids       secretUIDs
		remembered [2]string // plain and keyed
		recorded   string
		want       string
	}{
		{"without Secrets there is nothing to be guessed", nil, [2]string{}, "plain", "plain"},
		{"a version without keys has recorded it", one, [2]string{}, "plain", manifest.Keyed(key, "plain")},
		{"it is recorded", one, [2]string{}, manifest.Keyed(key, "plain"), manifest.Keyed(key, "plain")},
		{"something else is recorded", one, [2]string{}, "other", "other"},
		{"a Secret was recreated", other, [2]string{"plain", manifest.Keyed(key, "plain")}, manifest.Keyed(key, "plain"), manifest.Keyed(other.key(), "plain")},
		{"a Secret was recreated with another content", other, [2]string{"before", manifest.Keyed(key, "before")}, manifest.Keyed(key, "before"), manifest.Keyed(key, "before")},
		{"nothing is recorded", one, [2]string{}, "", ""},
	} {
		processing, last := test.recorded, test.recorded
		found := newDigest("plain", test.uids)
		found.recognize(&digestMemory{plain: test.remembered[0], keyed: test.remembered[1]}, &processing, &last)
		if processing != test.want || last != test.want {
			t.Errorf("%s: want %q, got %q and %q", test.reason, test.want, processing, last)
		}
	}
	if manifest.Keyed(key, "plain") == manifest.Keyed(other.key(), "plain") || manifest.Keyed(key, "plain") == "plain" {
		t.Error("want digests to depend on the key")
	}
}
