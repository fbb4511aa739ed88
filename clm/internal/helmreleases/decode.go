// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
)

const (
	// maxRecord bounds the size of a record after decompression, in bytes. Since a compressed one has at most 1 MiB,
	// only one that is made to do harm has more.
	maxRecord = 32 << 20
	// maxValues is how many values the JSON of a record may have, and the YAML of its manifests: one for each 32 bytes.
	// A value that is decoded takes much more memory than its text.
	maxValues = maxRecord / 32
	// maxReason is how long a text about a damaged record may be, in bytes: some errors have all of a value.
	maxReason = 1000
)

// header has what tells revisions apart, as Helm records it: JSON, compressed by gzip, and encoded by base64. Helm 3
// and 4 use the same names. What Helm's packages offer to decode it leaves out revisions that cannot be decoded, and
// links the drivers of SQL databases.
type header struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int64  `json:"version"`
	Info      struct {
		// FirstDeployed and LastDeployed are empty, or missing, if they are not known.
		FirstDeployed string `json:"first_deployed"`
		LastDeployed  string `json:"last_deployed"`
		Description   string `json:"description"`
		Status        Status `json:"status"`
	} `json:"info"`
	Chart struct {
		Metadata struct {
			Name       string `json:"name"`
			Version    string `json:"version"`
			AppVersion string `json:"appVersion"`
		} `json:"metadata"`
	} `json:"chart"`
}

// body has the rest of what is needed, which may be large.
type body struct {
	Info struct {
		Notes string `json:"notes"`
	} `json:"info"`
	Config   map[string]any `json:"config"`
	Manifest string         `json:"manifest"`
	Hooks    []struct {
		Path     string `json:"path"`
		Manifest string `json:"manifest"`
	} `json:"hooks"`
}

// decode decodes the data of a record into a header or a body.
func decode(data []byte, into any) error {
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(raw, data)
	if err != nil {
		return fmt.Errorf("decoding base64: %w", err)
	}
	// Early versions of Helm have not compressed it.
	if raw = raw[:n]; bytes.HasPrefix(raw, []byte{0x1f, 0x8b, 0x08}) {
		if raw, err = decompress(raw); err != nil {
			return err
		}
	}
	if err := manifest.CheckJSON(maxValues, raw); err != nil {
		return fmt.Errorf("decoding JSON: %w", err)
	}
	if err := utiljson.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decoding JSON: %w", err)
	}
	return nil
}

// decodeHeader returns the header of a record.
func decodeHeader(data []byte) (*header, error) {
	decoded := &header{}
	if err := decode(data, decoded); err != nil {
		return nil, err
	}
	if decoded.Name == "" || decoded.Version < 1 || decoded.Info.Status == "" {
		return nil, errors.New("it lacks the name of the release, the number of the revision or its status")
	}
	return decoded, nil
}

func decompress(raw []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	raw, err = io.ReadAll(io.LimitReader(reader, maxRecord+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if len(raw) > maxRecord {
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	return raw, nil
}

// revision returns the revision of a record, without the object that has it.
func (r *header) revision() (Revision, error) {
	created, err := timeOf(r.Info.LastDeployed, r.Info.FirstDeployed)
	if err != nil {
		return Revision{}, fmt.Errorf("revision %d: %w", r.Version, err)
	}
	metadata := r.Chart.Metadata
	return Revision{
		Number: r.Version, Status: r.Info.Status, Created: created, Description: r.Info.Description,
		Chart: Chart{Name: metadata.Name, Version: metadata.Version, AppVersion: metadata.AppVersion},
	}, nil
}

// Content decodes what the revision consists of, each time it is called: all revisions of a release together may need
// much memory. If that fails, the error names the object that has the record.
func (r Revision) Content() (Content, error) {
	content, err := decodeContent(r.data)
	if err != nil {
		return Content{}, fmt.Errorf("reading Helm's record in %s %s/%s: revision %d: %s", r.kind, r.namespace, r.name, r.Number, texts.Truncate(err.Error(), maxReason))
	}
	return content, nil
}

func decodeContent(data []byte) (Content, error) {
	r := &body{}
	if err := decode(data, r); err != nil {
		return Content{}, err
	}
	hooks, texts := make([]helm.RecordedHook, len(r.Hooks)), [][]byte{[]byte(r.Manifest)}
	for i, hook := range r.Hooks {
		hooks[i] = helm.RecordedHook{Path: hook.Path, Manifest: hook.Manifest}
		texts = append(texts, []byte(hook.Manifest))
	}
	if err := manifest.CheckYAML(maxValues, texts...); err != nil {
		return Content{}, fmt.Errorf("decoding its manifests: %w", err)
	}
	objects, err := helm.ParseRecorded(r.Manifest, hooks)
	if err != nil {
		return Content{}, err
	}
	values := r.Config
	if values == nil {
		values = map[string]any{}
	}
	return Content{Values: values, Objects: objects, Notes: strings.TrimSpace(r.Info.Notes)}, nil
}

// timeOf returns the first of the times that is known; the zero time if none is.
func timeOf(texts ...string) (time.Time, error) {
	for _, text := range texts {
		if text == "" {
			continue
		}
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, fmt.Errorf("decoding a time: %w", err)
		}
		if !parsed.IsZero() {
			return parsed.UTC().Truncate(time.Second), nil
		}
	}
	return time.Time{}, nil
}
