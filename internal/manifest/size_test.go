// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// repeated is YAML with a text that aliases repeat.
func repeated(size, aliases int) string {
	return "a: &a " + strings.Repeat("x", size) + "\nb: [" + strings.Repeat("*a, ", aliases) + "]\n"
}

func TestCheckSize(t *testing.T) {
	t.Parallel()
	const grown, dense = "with its aliases replaced, it has more than", "values; at most 3145728 are allowed"
	for _, test := range []struct {
		reason, text, want string
	}{
		{"a short text may repeat much", repeated(100, 500), ""},
		{"aliases must not make a long text of a short one", repeated(1<<10, 100), grown},
		{"aliases of aliases", "a: &a " + strings.Repeat("x", 200) + "\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n", grown},
		{"aliases in JSON", `{"a":&a "` + strings.Repeat("x", 1<<10) + `","b":[` + strings.Repeat("*a,", 100) + "1]}", grown},
		{"aliases behind the line breaks of YAML", "a:\u0085 &a " + strings.Repeat("x", 1<<10) + "\u2028b: [" + strings.Repeat("*a,", 100) + "]\n", grown},
		{"aliases in UTF-16", "\xfe\xff\x00" + strings.Join(strings.Split(repeated(1<<10, 200), ""), "\x00"), grown},
		{"aliases in a later document", "a: b\n---\n" + repeated(1<<10, 100), grown},
		{"signs in texts are no aliases", "a: '" + strings.Repeat("R&D ** & *", 100_000) + "'\nb: \"*\"\n", ""},
		{"many values in flow style", "a: [" + strings.Repeat("[],", 2<<20) + "]", dense},
		{"many values in block style", strings.Repeat("- a\n", 2<<20), dense},
	} {
		checks := map[string]func() error{"CheckSize": func() error { return CheckSize([]byte(test.text)) }}
		if test.want != "" {
			// What is allowed is not decoded here, because that takes time.
			checks["CheckSingle"] = func() error { return CheckSingle([]byte(test.text)) }
			checks["CheckSeparated"] = func() error { return CheckSeparated([]byte(test.text)) }
			checks["Decode"] = func() error {
				_, err := Decode([]byte(test.text))
				return err
			}
		}
		for name, check := range checks {
			if err := check(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: %s: want an error with %q, got %v", test.reason, name, test.want, err)
			}
		}
	}
	if err := CheckSize([]byte(strings.Repeat("- a\n", 1<<20)), []byte(strings.Repeat("- a\n", 1<<20))); err == nil || !strings.Contains(err.Error(), dense) {
		t.Errorf("want all texts together to count, got %v", err)
	}
}

// FuzzAliases looks for aliases that are overlooked.
func FuzzAliases(f *testing.F) {
	for _, seed := range append(documentSeeds, "a: &a b\nc: *a", "&a a: *a", "{\"a\":&a b,c:*a}", "[&a b,*a]", "- - &a b\n  - ? *a\n    : *a", "a:\u2029&a b\nc:\u0085*a", "!!str &a b: *a", "a: &a\n- *b", "%TAG ! !\n---\n&a b") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		var node yaml.Node
		if yaml.Unmarshal([]byte(document), &node) == nil && hasAlias(&node) && !hasAliases([]byte(document)) {
			t.Errorf("the aliases in %q are overlooked", document)
		}
	})
}

func hasAlias(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, hasAlias)
}
