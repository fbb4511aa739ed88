// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"errors"
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

func TestHash(t *testing.T) {
	t.Parallel()
	base := map[string][]byte{"a": []byte("1"), "b": nil}
	for _, row := range []struct {
		why  string
		a, b map[string][]byte
		same bool
	}{
		{"no entries are no entries", nil, map[string][]byte{}, true},
		{"equal entries", base, map[string][]byte{"b": nil, "a": []byte("1")}, true},
		{"an empty value is a value", base, map[string][]byte{"a": []byte("1"), "b": {}}, true},
		{"a key without a value counts", base, map[string][]byte{"a": []byte("1")}, false},
		{"the end of a key counts", map[string][]byte{"a": []byte("b1")}, map[string][]byte{"ab": []byte("1")}, false},
		{"the end of a value counts", map[string][]byte{"a": []byte("1b2")}, map[string][]byte{"a": []byte("1"), "b": []byte("2")}, false},
		{"values that are no text count", map[string][]byte{"a": {0xff}}, map[string][]byte{"a": {0xfe}}, false},
	} {
		a, err := Hash(row.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Hash(row.b)
		if err != nil {
			t.Fatal(err)
		}
		if (a == b) != row.same {
			t.Errorf("%s: the hashes are %s and %s", row.why, a, b)
		}
		if len(a) != 64 {
			t.Errorf("%s: the hash has %d digits: %s", row.why, len(a), a)
		}
	}
}

// made is a resource whose object is a number.
type made struct {
	object   int
	failure  error
	readOnly bool
}

func (m *made) PreviewObject() (int, error) { return m.object, m.failure }

func (m *made) Registration() concepts.Registration {
	return concepts.Registration{ReadOnly: m.readOnly}
}

func (*made) Identity() string { return "v1/Number/default/sample" }

func TestDesired(t *testing.T) {
	t.Parallel()
	hash := func(object int) (string, error) { return map[int]string{7: "seven"}[object], nil }
	got, err := Desired(&made{object: 7}, "Number", hash)
	if err != nil || got != "seven" {
		t.Errorf("unexpected hash %q, error %v", got, err)
	}
	failure := errors.New("not made")
	if got, err := Desired(&made{object: 7, failure: failure}, "Number", hash); !errors.Is(err, failure) || got != "" {
		t.Errorf("unexpected hash %q, error %v", got, err)
	}
	for want, resource := range map[string]*made{
		"hashing a Number: the resource must not be nil":                              nil,
		"hashing the entries of v1/Number/default/sample: the resource is read-only,": {object: 7, readOnly: true},
	} {
		if got, err := Desired(resource, "Number", hash); err == nil || !strings.HasPrefix(err.Error(), want) || got != "" {
			t.Errorf("unexpected hash %q, error %v, want %s", got, err, want)
		}
	}
}
