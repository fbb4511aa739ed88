// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts_test

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

	"github.com/component-operator/runtime/internal/texts"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, message, want string }{
		{"a string", `Pod "a" is invalid: spec.x: Invalid value: "se\"cret: x": must be a port`, `Pod "a" is invalid: spec.x: Invalid value: ***: must be a port`},
		{"a number is no secret", `spec.port: Invalid value: 70000: must be between 1 and 65535, inclusive`, `spec.port: Invalid value: 70000: must be between 1 and 65535, inclusive`},
		{"a text of digits may be one", `spec.pin: Invalid value: "123456": bad`, `spec.pin: Invalid value: ***: bad`},
		{"a boolean", `spec.a.hostNetwork: Invalid value: true: bad`, `spec.a.hostNetwork: Invalid value: true: bad`},
		{"a name", `spec.ports[1].name: Duplicate value: "http"`, `spec.ports[1].name: Duplicate value: "http"`},
		{"a reference", `spec.containers[0].volumeMounts[0].name: Not found: "x", spec.serviceAccountName: Invalid value: "A_B": bad`, `spec.containers[0].volumeMounts[0].name: Not found: "x", spec.serviceAccountName: Invalid value: "A_B": bad`},
		{"a user is no reference", `spec.username: Invalid value: "admin": bad`, `spec.username: Invalid value: ***: bad`},
		{"an object in place of a name", `spec.name: Invalid value: {"a":"b"}: bad`, `spec.name: Invalid value: ***: bad`},
		{"a quantity", `spec.containers[0].resources.requests: Invalid value: "2": must be less than 1`, `spec.containers[0].resources.requests: Invalid value: "2": must be less than 1`},
		{"an environment variable", `spec.env[0].name: Invalid value: "A B": bad, spec.env[0].value: Invalid value: 5: bad`, `spec.env[0].name: Invalid value: "A B": bad, spec.env[0].value: Invalid value: ***: bad`},
		{"a map of environment variables", `spec.extraEnv.PIN: Invalid value: 1234: bad`, `spec.extraEnv.PIN: Invalid value: ***: bad`},
		{"the content of a Secret", `data.name: Invalid value: 5: bad, stringData[name]: Unsupported value: "b": supported values: "A"`, `data.name: Invalid value: ***: bad, stringData[name]: Unsupported value: ***: supported values: "A"`},
		{"items of sets", `.spec.tags: duplicate entries for key [="a\"]"]; .spec.tags[="a"].x, .metadata.finalizers[="b"], .spec.ports[=5]`, `.spec.tags: duplicate entries for key [=***]; .spec.tags[=***].x, .metadata.finalizers[="b"], .spec.ports[=5]`},
		{"a number in place of a boolean", `.spec.x: expected boolean, got &{5}`, `.spec.x: expected boolean, got 5`},
		{"a boolean in place of a string", `.spec.x: expected string, got &value.valueUnstructured{Value:true}`, `.spec.x: expected string, got true`},
		{"a number in place of a string", `.spec.x: expected string, got &value.valueUnstructured{Value:12345}`, `.spec.x: expected string, got ***`},
		{"a boolean in place of a text in the environment", `.env[name="A"].value: expected string, got &value.valueUnstructured{Value:true}`, `.env[name="A"].value: expected string, got ***`},
		{"a string in place of a list", "errors:\n  .spec.ports: expected list, got &{hun}ter2}\n  .spec.x: expected map, got &{map[a:hunter2]}", "errors:\n  .spec.ports: expected list, got ***\n  .spec.x: expected map, got ***"},
		{"an object", `spec.x: Invalid value: {"a":"b: c","d":[1]}: must be small`, `spec.x: Invalid value: ***: must be small`},
		{"a Go value", `spec.x: Invalid value: map[string]string{"a":"b"}: bad`, `spec.x: Invalid value: ***: bad`},
		{"a list of errors", `[a: Invalid value: "x", b: Duplicate value: "y", c: Invalid value: 5]`, `[a: Invalid value: ***, b: Duplicate value: ***, c: Invalid value: 5]`},
		{"an enumeration", `spec.x: Unsupported value: "Z": supported values: "A", "B"`, `spec.x: Unsupported value: "Z": supported values: "A", "B"`},
		{"the rule quotes the value again", `spec.x: Invalid value: "abc": 'abc' is not "abc"`, `spec.x: Invalid value: ***: *** is not ***`},
		{"the names of types remain", `spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"`, `spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"`},
		{"the name of the object remains", `metadata.name: Invalid value: "A_B": a lowercase RFC 1123 subdomain`, `metadata.name: Invalid value: "A_B": a lowercase RFC 1123 subdomain`},
		{"a label is no name", `metadata.labels: Invalid value: "A B": a valid label`, `metadata.labels: Invalid value: ***: a valid label`},
		{"a value of a patch", `.data.x: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"}"}} and more`, `.data.x: expected string, got *** and more`},
		{"a number that is too large", `json: cannot unmarshal number 1234 into Go struct field X.y of type int8`, `json: cannot unmarshal number 1234 into Go struct field X.y of type int8`},
		{"a number that does not fit", `json: cannot unmarshal number 1234 into Go struct field X of type string`, `json: cannot unmarshal number into Go struct field X of type string`},
		{"a number that cannot be parsed", `strconv.ParseInt: parsing "secret": invalid syntax`, `strconv.ParseInt: parsing ***: invalid syntax`},
		{"an object without kind", `Object 'Kind' is missing in '{"a":"it's"}'`, `Object 'Kind' is missing`},
		{"an old decoder", `error found in #10 byte of ...|"a":"secret"|..., bigger context ...|{"a":"secret"}|...`, `error found in #10 byte of ...|***|...`},
		{"nothing to remove", `deployments.apps "web" is forbidden: User "jane" cannot get resource`, `deployments.apps "web" is forbidden: User "jane" cannot get resource`},
		{"quotes that do not end", `spec.x: Invalid value: "secret`, `spec.x: Invalid value: ***`},
		{"braces that do not end", `got valueUnstructured{Value:{"secret"`, `got ***`},
	} {
		got := texts.Text(test.message)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if again := texts.Text(got); again != got {
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
	invalid.Details.Causes = append(invalid.Details.Causes, metav1.StatusCause{Field: `.spec.tags[="hunter2"]`, Message: `conflict with "a"`})
	if !texts.Status(&invalid, nil) {
		t.Error("expected something to be removed")
	}
	want := metav1.StatusDetails{Kind: "Secret", Name: "a", Causes: []metav1.StatusCause{
		{Type: metav1.CauseTypeFieldValueInvalid, Field: "data.x", Message: "Invalid value: ***: must be ***"},
		{Type: metav1.CauseTypeFieldValueRequired, Field: "type", Message: "Required value: it is required"},
		{Field: ".spec.tags[=***]", Message: `conflict with "a"`},
	}}
	if diff := cmp.Diff(want, *invalid.Details); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`Secret "a" is invalid: [data.x: Invalid value: ***: must be ***, type: Required value: it is required]`, invalid.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	denied := metav1.Status{Message: `admission webhook "w" denied the request: the password open sesame (b3BlbiBzZXNhbWU=) is weak`}
	texts.Status(&denied, []byte(`{"apiVersion": "v1", "kind": "Secret", "data": {"p": "b3BlbiBzZXNhbWU=", "q": "eA=="}}`))
	if diff := cmp.Diff(`admission webhook "w" denied the request: the password *** (***) is weak`, denied.Message); diff != "" {
		t.Errorf("denial (-want +got):\n%s", diff)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New(`spec.x: Invalid value: "secret"`)
	if err := texts.Error(fmt.Errorf("applying: %w", cause)); err.Error() != "applying: spec.x: Invalid value: ***" || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if plain := errors.New("plain"); texts.Error(plain) != plain || texts.Error(nil) != nil { //nolint:errorlint // identity is meant
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
			field.NotSupported(path, "B", []string{"A"}), field.TypeInvalid(path, value, "rule two"),
			field.Invalid(path, map[string]any{"a": value, "b": []any{number, value}}, "rule three"),
			field.Invalid(path, number, "rule four"), field.Invalid(path, value, "of "+strconv.Quote(value)),
		}
		message := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "name", list).Error() +
			fmt.Sprintf("; got &value.valueUnstructured{Value:%#v}; the end", map[string]any{"a": value})
		got := texts.Text(message)
		if strings.Contains(got, before) || strings.Contains(got, after) {
			t.Errorf("%s\nbecame\n%s", message, got)
		}
		for _, rest := range []string{`Pod "name" is invalid`, strconv.Itoa(number) + ": rule four", `Unsupported value: "B"`, "spec.x: Invalid value: ***: rule one", `supported values: "A"`, "rule two", "rule three", "rule four", "the end"} {
			if !strings.Contains(got, rest) {
				t.Errorf("%s\nbecame\n%s\nwhich lacks %s", message, got, rest)
			}
		}
	})
}
