// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

const helmGood = `{"name":"web","version":7,"info":{"first_deployed":"2024-01-01T00:00:00Z","last_deployed":"2024-01-02T03:04:05.6+01:00","deleted":"",` +
	`"status":"deployed","description":"Upgrade complete"},"chart":{"metadata":{"name":"shop","version":"1.2.3","appVersion":"9"},"files":[{"name":"x","data":"eA=="}]},` +
	`"config":{"replicas":9007199254740993},"manifest":"---\n# Source: shop/templates/a.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",` +
	`"hooks":[{"path":"shop/templates/b.yaml","manifest":"{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"}]}`

func helmEncoded(tb testing.TB, text string, zip bool) string {
	tb.Helper()
	var buffer bytes.Buffer
	if zip {
		writer := gzip.NewWriter(&buffer)
		if _, err := writer.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			tb.Fatal(err)
		}
	} else {
		buffer.WriteString(text)
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

func helmMetadata(number, status string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "v" + number, Labels: map[string]string{"owner": "helm", "name": "web", "version": number, "status": status}}
}

func helmSecret(number, status, data string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: helmMetadata(number, status), Type: helmType, Data: map[string][]byte{"release": []byte(data)}}
}

func TestReadHelm(t *testing.T) {
	t.Parallel()
	good := helmEncoded(t, helmGood, true)
	otherType := helmSecret("7", "deployed", good)
	otherType.Type = "helm.sh/release.v2"
	for name, test := range map[string]struct {
		object client.Object
		want   string
	}{
		"Secret":       {helmSecret("7", "deployed", good), ""},
		"Uncompressed": {helmSecret("7", "deployed", helmEncoded(t, helmGood, false)), ""},
		"ConfigMap":    {&corev1.ConfigMap{ObjectMeta: helmMetadata("7", "deployed"), Data: map[string]string{"release": good}}, ""},
		"Empty":        {helmSecret("7", "deployed", ""), "v7: revision 7: it has no data with key"},
		"Damaged":      {helmSecret("7", "deployed", "!"), "v7: revision 7: decoding base64"},
		"Theirs":       {helmSecret("7", "deployed", helmEncoded(t, strings.Replace(helmGood, `"web"`, `"other"`, 1), true)), `it has revision 7 of release "other"`},
		"Time":         {helmSecret("7", "deployed", helmEncoded(t, strings.Replace(helmGood, "2024-01-02T", "yesterday", 1), true)), "decoding a time"},
		"OtherType":    {otherType, `its type is "helm.sh/release.v2"; supported is`},
		"Unlabelled":   {helmSecret("x", "deployed", good), `Secret vx has the label version "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clnt, namespace := testenv.Client(t), testenv.Namespace(t)
			test.object.SetNamespace(namespace)
			if err := clnt.Create(t.Context(), test.object); err != nil {
				t.Fatal(err)
			}
			release, err := ReadRelease(t.Context(), clnt, namespace, "web")
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("want %q, got %v", test.want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := release
			want := []any{int64(7), time.Date(2024, 1, 2, 2, 4, 5, 0, time.UTC), "Upgrade complete", "shop 1.2.3 9", map[string]any{"replicas": int64(9007199254740993)}, 2}
			if diff := cmp.Diff(want, []any{got.Number, got.Created, got.Description, got.ChartName + " " + got.ChartVersion + " " + got.AppVersion, got.Values, len(got.Objects)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRetireOnlyWhatWasRead keeps all records if there is one that was not read, and deletes all of them otherwise.
func TestRetireOnlyWhatWasRead(t *testing.T) {
	t.Parallel()
	clnt, namespace := testenv.Client(t), testenv.Namespace(t)
	create := func(object *corev1.Secret) {
		t.Helper()
		object.Namespace = namespace
		if err := clnt.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	read := func() *InstalledRelease {
		t.Helper()
		release, err := ReadRelease(t.Context(), clnt, namespace, "web")
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	create(helmSecret("6", "superseded", "!"))
	create(helmSecret("7", "deployed", helmEncoded(t, helmGood, true)))
	before := read()
	create(helmSecret("8", "failed", "!"))
	if err := before.Retire(t.Context(), clnt); !errors.Is(err, ErrReleaseChanged) || !strings.Contains(err.Error(), "Secret v8") {
		t.Errorf("want ErrReleaseChanged because of Secret v8, got %v", err)
	}
	release := read()
	if got := release.Records(); got != "Secret v6 to Secret v8" {
		t.Errorf("got records %s", got)
	}
	if err := release.Retire(t.Context(), clnt); err != nil {
		t.Error(err)
	}
	if _, err := ReadRelease(t.Context(), clnt, namespace, "web"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("want no records to be left, got %v", err)
	}
}

// TestForgedHelmRecords are small as long as they are compressed.
//
//nolint:paralleltest // it measures the memory of the process
func TestForgedHelmRecords(t *testing.T) {
	const size = 4 << 20
	many := func(value string) string {
		return strings.TrimSuffix(strings.Repeat(value, size/len(value)), ",")
	}
	manifest := func(text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return `,"manifest":` + string(raw)
	}
	for _, test := range []struct{ reason, parts, want string }{
		{"a record that is too large", manifest(strings.Repeat("x", maxHelmRecord)), "it has more than 33554432 bytes"},
		{"hooks", `,"hooks":[` + many(`{},`) + `]`, "decoding JSON: it has 2796205 values; must be at most 1048576"},
		{"an object with many nested lists", manifest("x:\n" + many(strings.Repeat("- ", 1000)+"a\n")), "decoding its manifests: it has "},
		{"a long name of a file", manifest("# Source: " + strings.Repeat("x", size) + "\na: 1"), "parsing xxx"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			data := []byte(helmEncoded(t, `{"name":"web","version":1`+test.parts+`}`, true))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := (&InstalledRelease{Namespace: "default", Name: "web"}).decode(1, data)
			runtime.ReadMemStats(&after)
			if text := fmt.Sprint(err); err == nil || !strings.Contains(text, test.want) {
				t.Errorf("want %q, got %.200s (%d bytes)", test.want, text, len(text))
			}
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 500<<20 {
				t.Errorf("%d bytes of memory were allocated", bytes)
			}
		})
	}
}

// FuzzHelmRecord decodes what anybody may have written into a record.
func FuzzHelmRecord(f *testing.F) {
	for _, parts := range []string{
		``, `,"config":{"a":1}`, `,"hooks":[{"path":"a","manifest":"a: 1"},{}]`, `,"manifest":"---\n# Source: a\nkind: List\nitems: [{}]"`, `,"info":{"last_deployed":"x"}`,
		`,"manifest":"a: &a [1]\nb: [*a, *a]\n"`, `,"version":2`, `,"config":` + strings.Repeat("[", 20000),
	} {
		f.Add(`{"name":"web","version":1` + parts + `}`)
	}
	f.Add("\x1f\x8b\x08")
	f.Add("null")
	f.Fuzz(func(_ *testing.T, text string) {
		_ = (&InstalledRelease{Namespace: "default", Name: "web"}).decode(1, []byte(base64.StdEncoding.EncodeToString([]byte(text))))
	})
}
