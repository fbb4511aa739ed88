// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/component-operator/runtime/internal/redact"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, message, want string }{
		{"a string", `Pod "a" is invalid: spec.x: Invalid value: "se\"cret: x": must be a port`, `Pod "a" is invalid: spec.x: Invalid value: ***: must be a port`},
		{"a number", `spec.port: Invalid value: 70000: must be between 1 and 65535, inclusive`, `spec.port: Invalid value: ***: must be between 1 and 65535, inclusive`},
		{"an object", `spec.x: Invalid value: {"a":"b: c","d":[1]}: must be small`, `spec.x: Invalid value: ***: must be small`},
		{"a Go value", `spec.x: Invalid value: map[string]string{"a":"b"}: bad`, `spec.x: Invalid value: ***: bad`},
		{"a list of errors", `[a: Invalid value: "x", b: Duplicate value: "y", c: Invalid value: 5]`, `[a: Invalid value: ***, b: Duplicate value: ***, c: Invalid value: ***]`},
		{"what is supported remains", `spec.x: Unsupported value: "secret": supported values: "A", "B"`, `spec.x: Unsupported value: ***: supported values: "A", "B"`},
		{"the rule quotes the value again", `spec.x: Invalid value: "abc": 'abc' is not "abc"`, `spec.x: Invalid value: ***: *** is not ***`},
		{"the names of types remain", `spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"`, `spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"`},
		{"the name of the object remains", `metadata.name: Invalid value: "A_B": a lowercase RFC 1123 subdomain`, `metadata.name: Invalid value: "A_B": a lowercase RFC 1123 subdomain`},
		{"a label is no name", `metadata.labels: Invalid value: "A B": a valid label`, `metadata.labels: Invalid value: ***: a valid label`},
		{"a value of a patch", `.data.x: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"}"}} and more`, `.data.x: expected string, got *** and more`},
		{"a number that does not fit", `json: cannot unmarshal number 1234 into Go struct field X of type string`, `json: cannot unmarshal number into Go struct field X of type string`},
		{"a number that cannot be parsed", `strconv.ParseInt: parsing "secret": invalid syntax`, `strconv.ParseInt: parsing ***: invalid syntax`},
		{"an object without kind", `Object 'Kind' is missing in '{"a":"it's"}'`, `Object 'Kind' is missing`},
		{"an old decoder", `error found in #10 byte of ...|"a":"secret"|..., bigger context ...|{"a":"secret"}|...`, `error found in #10 byte of ...|***|...`},
		{"nothing to remove", `deployments.apps "web" is forbidden: User "jane" cannot get resource`, `deployments.apps "web" is forbidden: User "jane" cannot get resource`},
		{"quotes that do not end", `spec.x: Invalid value: "secret`, `spec.x: Invalid value: ***`},
		{"braces that do not end", `got valueUnstructured{Value:{"secret"`, `got ***`},
	} {
		got := redact.Text(test.message)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if again := redact.Text(got); again != got {
			t.Errorf("%s: again, it is %s", test.reason, again)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "a", field.ErrorList{
		field.Invalid(field.NewPath("data", "x"), "hunter2", "must be \"hunter2\""),
		field.Required(field.NewPath("type"), "it is required"),
	}).ErrStatus
	if !redact.Status(&invalid, nil) {
		t.Error("expected something to be removed")
	}
	want := metav1.StatusDetails{Kind: "Secret", Name: "a", Causes: []metav1.StatusCause{
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.x", Message: "Invalid value: ***: must be ***"},
		{Type: metav1.CauseTypeFieldValueRequired, Field: "type", Message: "Required value: it is required"},
	}}
	if diff := cmp.Diff(want, *invalid.Details); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`Secret "a" is invalid: [data.x: Invalid value: ***: must be ***, type: Required value: it is required]`, invalid.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	denied := metav1.Status{Message: `admission webhook "w" denied the request: the password open sesame (b3BlbiBzZXNhbWU=) is weak`}
	redact.Status(&denied, []byte(`{"apiVersion": "v1", "kind": "Secret", "data": {"p": "b3BlbiBzZXNhbWU=", "q": "eA=="}}`))
	if diff := cmp.Diff(`admission webhook "w" denied the request: the password *** (***) is weak`, denied.Message); diff != "" {
		t.Errorf("denial (-want +got):\n%s", diff)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New(`spec.x: Invalid value: "secret"`)
	if err := redact.Error(fmt.Errorf("applying: %w", cause)); err.Error() != "applying: spec.x: Invalid value: ***" || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if plain := errors.New("plain"); redact.Error(plain) != plain || redact.Error(nil) != nil { //nolint:errorlint // identity is meant
		t.Error("expected errors without values to be the same")
	}
}

// FuzzText has the API server's own functions make messages.
func FuzzText(f *testing.F) {
	for _, value := range []string{`hunter2`, `a: b`, `"`, `\`, "x\ny", `{"a": "b"}`, `, y: Invalid value: "z"`, `]`, "ü", `: `} {
		f.Add(value, 7)
	}
	f.Fuzz(func(t *testing.T, value string, number int) {
		const before, after = "<<<", ">>>"
		value = before + value + after
		path := field.NewPath("spec", "x")
		list := field.ErrorList{
			field.Invalid(path, value, "rule one"), field.Duplicate(path, value), field.NotFound(path, value),
			field.NotSupported(path, value, []string{"A"}), field.TypeInvalid(path, value, "rule two"),
			field.Invalid(path, map[string]any{"a": value, "b": []any{number, value}}, "rule three"),
			field.Invalid(path, number, "rule four"), field.Invalid(path, value, "of "+strconv.Quote(value)),
		}
		message := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "name", list).Error() +
			fmt.Sprintf("; got &value.valueUnstructured{Value:%#v}; the end", map[string]any{"a": value})
		got := redact.Text(message)
		if strings.Contains(got, before) || strings.Contains(got, after) {
			t.Errorf("%s\nbecame\n%s", message, got)
		}
		for _, rest := range []string{`Pod "name" is invalid`, "spec.x: Invalid value: ***: rule one", `supported values: "A"`, "rule two", "rule three", "rule four", "the end"} {
			if !strings.Contains(got, rest) {
				t.Errorf("%s\nbecame\n%s\nwhich lacks %s", message, got, rest)
			}
		}
	})
}
