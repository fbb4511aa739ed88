// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/helmreleases"
	"github.com/component-operator/runtime/internal/testenv"
)

const good = `{"name":"web","version":7,"info":{"first_deployed":"2024-01-01T00:00:00Z","last_deployed":"2024-01-02T03:04:05.6+01:00","deleted":"",` +
	`"status":"deployed","description":"Upgrade complete"},"chart":{"metadata":{"name":"shop","version":"1.2.3","appVersion":"9"},"files":[{"name":"x","data":"eA=="}]},` +
	`"config":{"replicas":9007199254740993},"manifest":"---\n# Source: shop/templates/a.yaml\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",` +
	`"hooks":[{"path":"shop/templates/b.yaml","manifest":"{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"}]}`

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func encoded(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

func labels() map[string]string { return map[string]string{"owner": "helm", "name": "web"} }

func secret(name, data string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels()}, Type: "helm.sh/release.v1", Data: map[string][]byte{"release": []byte(data)},
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]client.Object{
		"Secret":       secret("a", encoded(zipped(t, good))),
		"Uncompressed": secret("a", encoded([]byte(good))),
		"ConfigMap": &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels()}, Data: map[string]string{"release": encoded(zipped(t, good))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clnt, namespace := testenv.Client(t), testenv.Namespace(t)
			object.SetNamespace(namespace)
			if err := clnt.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			release, err := helmreleases.Read(t.Context(), clnt, namespace, "web")
			if err != nil {
				t.Fatal(err)
			}
			got := release.Last()
			content, err := got.Content()
			if err != nil {
				t.Fatal(err)
			}
			want := []any{
				int64(7), helmreleases.StatusDeployed, time.Date(2024, 1, 2, 2, 4, 5, 0, time.UTC), "Upgrade complete",
				helmreleases.Chart{Name: "shop", Version: "1.2.3", AppVersion: "9"},
				map[string]any{"replicas": int64(9007199254740993)},
				2,
			}
			if diff := cmp.Diff(want, []any{got.Number, got.Status, got.Created, got.Description, got.Chart, content.Values, len(content.Objects)}); diff != "" {
				t.Error(diff)
			}
			if err := release.Retire(t.Context(), clnt); err != nil {
				t.Error(err)
			}
			if _, err := helmreleases.Read(t.Context(), clnt, namespace, "web"); !errors.Is(err, helmreleases.ErrNotFound) {
				t.Errorf("want ErrNotFound after the record was deleted, got %v", err)
			}
		})
	}
}

// TestReadNamesWhatItCannotRead has records that are damaged, or of another kind. Each is an error that names its
// object: a revision must not be missing.
func TestReadNamesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	otherType := secret("other", encoded(zipped(t, good)))
	otherType.Type = "helm.sh/release.v2"
	for want, object := range map[string]*corev1.Secret{
		"nothing: it has no data with key":                      secret("nothing", ""),
		`theirs: it is labelled as a record of release "web"`:   secret("theirs", encoded([]byte(strings.Replace(good, `"web"`, `"other"`, 1)))),
		"time: revision 7: decoding a time":                     secret("time", encoded([]byte(strings.Replace(good, "2024-01-02T", "yesterday", 1)))),
		`other: its type is "helm.sh/release.v2"; supported is`: otherType,
	} {
		t.Run(object.Name, func(t *testing.T) {
			t.Parallel()
			clnt, namespace := testenv.Client(t), testenv.Namespace(t)
			for _, each := range []*corev1.Secret{secret("good", encoded(zipped(t, good))), object} {
				each.Namespace = namespace
				if err := clnt.Create(t.Context(), each); err != nil {
					t.Fatal(err)
				}
			}
			_, err := helmreleases.Read(t.Context(), clnt, namespace, "web")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
		})
	}
}

// TestRetireOnlyWhatWasRead keeps all records if there is one that was not read.
func TestRetireOnlyWhatWasRead(t *testing.T) {
	t.Parallel()
	clnt, namespace := testenv.Client(t), testenv.Namespace(t)
	for i, name := range []string{"one", "two"} {
		object := secret(name, encoded([]byte(good)))
		object.Namespace = namespace
		if i == 1 {
			object.Data["release"] = []byte(encoded([]byte(strings.Replace(good, `"version":7`, `"version":8`, 1))))
		}
		release, err := helmreleases.Read(t.Context(), clnt, namespace, "web")
		if err := clnt.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := release.Retire(t.Context(), clnt); !errors.Is(err, helmreleases.ErrChanged) || !strings.Contains(err.Error(), "Secret two") {
			t.Errorf("want ErrChanged because of Secret two, got %v", err)
		}
	}
	if release, err := helmreleases.Read(t.Context(), clnt, namespace, "web"); err != nil || len(release.Revisions) != 2 {
		t.Errorf("want both revisions to be there, got %v, %v", release, err)
	}
}

// revisionOf returns a record with the labels that Helm sets.
func revisionOf(number, status, data string) *corev1.Secret {
	object := secret("v"+number, data)
	object.Labels["version"], object.Labels["status"] = number, status
	return object
}

// numbered returns a record that can be read.
func numbered(number, status string) *corev1.Secret {
	record := strings.Replace(strings.Replace(good, `"version":7`, `"version":`+number, 1), `"status":"deployed"`, `"status":"`+status+`"`, 1)
	return revisionOf(number, status, encoded([]byte(record)))
}

// TestReadLeavesOutWhatIsOldAndDamaged has damaged records beside those that can be read.
func TestReadLeavesOutWhatIsOldAndDamaged(t *testing.T) {
	t.Parallel()
	unlabelled := revisionOf("1", "superseded", "!")
	delete(unlabelled.Labels, "version")
	for _, test := range []struct {
		reason  string
		records []*corev1.Secret
		// want is the error, or else the numbers of the revisions that can be read, and of the others.
		want string
	}{
		{
			"older than what is installed",
			[]*corev1.Secret{revisionOf("2", "superseded", "!"), numbered("3", "superseded"), revisionOf("4", "failed", ""), numbered("5", "deployed"), numbered("6", "failed")},
			"[3 5 6] [2 superseded 4 failed]",
		},
		{"the newest one, which may be installed", []*corev1.Secret{numbered("5", "deployed"), revisionOf("6", "deployed", "!")}, "/v6: decoding base64"},
		{"it is not known how old it is", []*corev1.Secret{unlabelled, numbered("2", "deployed")}, "/v1: decoding base64"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			clnt, namespace := testenv.Client(t), testenv.Namespace(t)
			for _, record := range test.records {
				record.Namespace = namespace
				if err := clnt.Create(t.Context(), record); err != nil {
					t.Fatal(err)
				}
			}
			release, err := helmreleases.Read(t.Context(), clnt, namespace, "web")
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("want %q, got %v", test.want, err)
				}
				return
			}
			var readable []int64
			var others []any
			for _, revision := range release.Revisions {
				readable = append(readable, revision.Number)
			}
			for _, revision := range release.Unreadable {
				others = append(others, revision.Number, revision.Status)
				if !strings.Contains(revision.Reason.Error(), "Secret "+namespace+"/v") {
					t.Errorf("the object is not named: %v", revision.Reason)
				}
			}
			if got := fmt.Sprint(readable, others); got != test.want || release.FirstRecord() != "Secret v2" {
				t.Errorf("want %s, got %s; the first record is %s", test.want, got, release.FirstRecord())
			}
			// What cannot be read is a record as well, which Helm would find.
			if err := release.Retire(t.Context(), clnt); err != nil {
				t.Error(err)
			}
			if _, err := helmreleases.Read(t.Context(), clnt, namespace, "web"); !errors.Is(err, helmreleases.ErrNotFound) {
				t.Errorf("want no records to be left, got %v", err)
			}
		})
	}
}
