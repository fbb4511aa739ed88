// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/types"
)

func templateFS(text string) fstest.MapFS {
	return fstest.MapFS{"dir/parameters.yaml": {Data: []byte(text)}}
}

// TestGeneratedSecretsInTemplates uses the source in the context.
func TestGeneratedSecretsInTemplates(t *testing.T) {
	t.Parallel()
	const text = `password: {{ generatedPassword "db" 24 }}
bytes: {{ generatedBytes "key" 4 | toString | b64enc }}
uuid: {{ generatedUUID "id" }}
tls: {{ generatedCertificate "server" "a.b" (printf "%s.svc" .Name) | toJson }}
ssh: {{ generatedSSHKey "git" | toJson }}`
	transformer, err := manifests.NewTemplateParameterTransformer(templateFS(text), "dir/parameters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transformer.TransformParameters("ns", "name", types.UnstructurableMap{}); err == nil || !strings.Contains(err.Error(), "reconcilers need the option GeneratedSecrets for it") {
		t.Errorf("without a source: %v", err)
	}
	source, err := secrets.New(make([]byte, secrets.SeedSize), time.Now(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	generate := manifests.NewGenerator(generator.Func(func(_ context.Context, _, _ string, parameters types.Unstructurable) ([]client.Object, error) {
		content := parameters.ToUnstructured()
		if password, _ := source.Password("db", secrets.PasswordOptions{Length: 24}); content["password"] != password || len(content) != 5 {
			t.Errorf("got %v", content)
		}
		tls, _ := content["tls"].(map[string]any)
		encoded, _ := tls["certificate"].(string)
		if block, _ := pem.Decode([]byte(encoded)); block == nil {
			t.Errorf("no certificate: %v", tls)
		} else if certificate, err := x509.ParseCertificate(block.Bytes); err != nil || certificate.VerifyHostname("name.svc") != nil {
			t.Errorf("got %v, %v", certificate.DNSNames, err)
		}
		return nil, nil
	})).WithParameterTransformer(transformer)
	ctx := generator.NewContext(t.Context(), generator.Surroundings{Secrets: source})
	if _, err := generate.Generate(ctx, "ns", "name", types.UnstructurableMap{}); err != nil {
		t.Fatal(err)
	}
}

func TestTemplateParameters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, text string
		want         m
		err          string
	}{
		{"parameters, namespace and name", "a: {{ .size }}\nb: {{ .Namespace }}/{{ .Name }}", m{"a": int64(3), "b": "ns/name"}, ""},
		{"functions", "{{ toYaml .nested | nindent 0 }}\nx: {{ .missing | default `d` }}", m{"list": []any{"x"}, "x": "d"}, ""},
		{"include and tpl", "{{ define `d` }}a: 1{{ end }}{{ include `d` . }}\nb: {{ tpl `{{ .size }}` . }}", m{"a": int64(1), "b": int64(3)}, ""},
		{"nothing", "{{ if .missing }}a: b{{ end }}", nil, ""},
		{"what changes its data", "{{ $_ := set .nested `list` 1 }}{{ $_ := unset . `size` }}a: {{ .nested.list }}", m{"a": int64(1)}, ""},
		{"an error", "a: b\nc: {{ fail `no` }}", nil, "rendering parameter template: dir/parameters.yaml:2:6: executing \"dir/parameters.yaml\" at <fail `no`>: error calling fail: no"},
		{"a list", "[a]", nil, "reading the output of parameter template dir/parameters.yaml: it is not a map, but a list"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			transformer, err := manifests.NewTemplateParameterTransformer(templateFS(tt.text), "dir/parameters.yaml")
			if err != nil {
				t.Fatal(err)
			}
			parameters := types.UnstructurableMap{"size": 3, "large": int64(12345678), "nested": m{"list": []any{"x"}}, "Name": "mine"}
			before := parameters.ToUnstructured()
			got, err := transformer.TransformParameters("ns", "name", parameters)
			if diff := cmp.Diff(before, map[string]any(parameters)); diff != "" {
				t.Errorf("the parameters were changed (-before +after):\n%s", diff)
			}
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("got error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.ToUnstructured()); diff != "" {
				t.Errorf("unexpected parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewTemplateParameterTransformer(t *testing.T) {
	t.Parallel()
	if _, err := manifests.NewTemplateParameterTransformer(templateFS(""), "missing"); err == nil || !strings.HasPrefix(err.Error(), "reading parameter template: open missing") {
		t.Errorf("a missing file: got error %v", err)
	}
	if _, err := manifests.NewTemplateParameterTransformer(templateFS("\n{{ lookup }}"), "dir/parameters.yaml"); err == nil || err.Error() != `parsing parameter template: dir/parameters.yaml:2: function "lookup" not defined` {
		t.Errorf("an unknown function: got error %v", err)
	}
	fingerprint := func(text string) string {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		transformer, err := manifests.NewTemplateParameterTransformer(nil, file)
		if err != nil {
			t.Fatal(err)
		}
		return transformer.Fingerprint()
	}
	if a, b, again := fingerprint("a"), fingerprint("b"), fingerprint("a"); a == "" || a == b || a != again {
		t.Errorf("the fingerprint does not identify the template: %q, %q, %q", a, b, again)
	}
}
