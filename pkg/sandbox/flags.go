// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// serviceRange is the address range of Services. The certificate of the API server contains its first address.
const serviceRange = "10.96.0.0/16"

// Limits for the clients of controllers and scheduler. The defaults (20 requests per second) are made for shared
// clusters, and tests would wait for them.
const (
	clientQPS   = 500
	clientBurst = 1000
)

// layout says where the files of one sandbox are.
type layout struct {
	data string // kept if the user gave it
	run  string // deleted at the end in any case
	pki  *pki
}

func (l layout) socket() string { return filepath.Join(l.run, "etcd.sock") }

func (l layout) log(program string) string { return filepath.Join(l.data, "logs", program+".log") }

func (l layout) file(name string) string { return filepath.Join(l.data, name) }

// kubeconfig of one of the programs, as opposed to that of the administrator.
func (l layout) kubeconfig(program string) string { return l.file(program + ".kubeconfig") }

// etcdArgs make etcd serve on a Unix socket: no other user can reach it there, and it collides with no port. It has no
// peers, but requires a port for them.
func etcdArgs(l layout) []string {
	return []string{
		"--data-dir=" + l.file("etcd"),
		"--listen-client-urls=unix://" + l.socket(),
		"--listen-peer-urls=http://127.0.0.1:0",
		// Required, but never used with a single member.
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--unsafe-no-fsync",
		"--quota-backend-bytes=" + strconv.Itoa(8<<30),
		"--auto-compaction-retention=1h",
		"--logger=zap",
		"--log-level=warn",
	}
}

func apiServerArgs(l layout, port, auditLog string) ([]string, error) {
	p := l.pki
	args := []string{
		"--etcd-servers=unix://" + l.socket(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + port,
		"--tls-cert-file=" + p.cert(programAPIServer),
		"--tls-private-key-file=" + p.key(programAPIServer),
		"--client-ca-file=" + p.cert("ca"),
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.key("sa"),
		"--service-account-signing-key-file=" + p.key("sa"),
		"--service-cluster-ip-range=" + serviceRange,
		"--requestheader-client-ca-file=" + p.cert("front-proxy-ca"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.cert("front-proxy-client"),
		"--proxy-client-key-file=" + p.key("front-proxy-client"),
		// Without a Service network, webhooks and aggregated APIs are reachable only at the addresses of their
		// endpoints.
		"--enable-aggregator-routing=true",
		// A loopback address is not allowed as an endpoint of the Service "kubernetes".
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	}
	if auditLog == "" {
		return args, nil
	}
	const policy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`
	if err := os.WriteFile(l.file("audit-policy.json"), []byte(policy), 0o600); err != nil {
		return nil, err
	}
	return append(args,
		"--audit-policy-file="+l.file("audit-policy.json"),
		"--audit-log-path="+auditLog,
		"--audit-log-maxsize=10240",
	), nil
}

func controllerManagerArgs(l layout) []string {
	p := l.pki
	args := []string{
		"--kubeconfig=" + l.kubeconfig(programControllerManager),
		"--secure-port=0",
		"--leader-elect=false",
		"--service-account-private-key-file=" + p.key("sa"),
		"--root-ca-file=" + p.cert("ca"),
		"--cluster-signing-cert-file=" + p.cert("ca"),
		"--cluster-signing-key-file=" + p.key("ca"),
		"--kube-api-qps=" + strconv.Itoa(clientQPS),
		"--kube-api-burst=" + strconv.Itoa(clientBurst),
		"--profiling=false",
	}
	for _, controller := range []string{"deployment", "replicaset", "statefulset", "job", "namespace", "endpoint", "service-endpoint"} {
		args = append(args, fmt.Sprintf("--concurrent-%s-syncs=20", controller))
	}
	return args
}

func schedulerArgs(l layout) ([]string, error) {
	config := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
leaderElection: {leaderElect: false}
enableProfiling: false
`, l.kubeconfig(programScheduler), clientQPS, clientBurst)
	if err := os.WriteFile(l.file("scheduler.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return []string{"--config=" + l.file("scheduler.yaml"), "--secure-port=0"}, nil
}

func kwokArgs(l layout) ([]string, error) {
	if err := os.WriteFile(l.file("kwok.yaml"), kwokConfig, 0o600); err != nil {
		return nil, err
	}
	return []string{"--kubeconfig=" + l.kubeconfig(programKwok), "--config=" + l.file("kwok.yaml")}, nil
}
