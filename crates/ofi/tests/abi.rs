//! Our structures and numbers are those of libfabric's headers: compared by a small C program, where the headers are installed.

use hpvm_ofi::abi::*;
use std::fmt::Write;
use std::mem::offset_of;
use std::process::Command;

/// Sizes, offsets and constants: what C calls them and what we have.
struct Facts(Vec<(String, u64)>);

impl Facts {
    fn add(&mut self, text: impl Into<String>, value: u64) {
        self.0.push((text.into(), value));
    }
}

macro_rules! offsets {
    ($facts:ident, $c:literal, $ours:ty, $($field:ident $(= $name:literal)?),*) => {
        $({
            let name = stringify!($field);
            $(let name = { let _ = name; $name };)?
            let text = format!("offsetof(struct {}, {})", $c, name.trim_start_matches("r#"));
            $facts.add(text, offset_of!($ours, $field) as u64);
        })*
    };
}

macro_rules! constants {
    ($facts:ident, $($name:ident),*) => {
        $($facts.add(stringify!($name), $name as u64);)*
    };
}

fn facts() -> Facts {
    let mut facts = Facts(Vec::new());
    offsets!(facts, "fid", Fid, fclass, context, ops);
    offsets!(facts, "fi_ops", FidOps, size, close, bind, control);
    offsets!(facts, "fi_tx_attr", TxAttr, mode, op_flags, inject_size, size);
    offsets!(facts, "fi_rx_attr", RxAttr, mode, total_buffered_recv, size);
    offsets!(facts, "fi_ep_attr", EpAttr, kind = "type", max_msg_size, msg_prefix_size);
    offsets!(facts, "fi_domain_attr", DomainAttr, name, threading, control_progress, data_progress);
    offsets!(facts, "fi_domain_attr", DomainAttr, resource_mgmt, av_type, mr_mode);
    offsets!(facts, "fi_domain_attr", DomainAttr, mr_key_size);
    offsets!(facts, "fi_fabric_attr", FabricAttr, name, prov_name, prov_version, api_version);
    offsets!(facts, "fi_info", Info, next, caps, mode, addr_format, src_addrlen, src_addr, handle);
    offsets!(facts, "fi_info", Info, tx_attr, rx_attr, ep_attr, domain_attr, fabric_attr);
    offsets!(facts, "fid_fabric", FidFabric, ops);
    offsets!(facts, "fi_ops_fabric", FabricOps, domain, trywait);
    offsets!(facts, "fid_domain", FidDomain, ops, mr);
    offsets!(facts, "fi_ops_domain", DomainOps, av_open, cq_open, endpoint);
    offsets!(facts, "fi_ops_mr", MrOps, reg);
    offsets!(facts, "fid_mr", FidMr, mem_desc, key);
    offsets!(facts, "fi_av_attr", AvAttr, kind = "type", count, ep_per_node, name, map_addr, flags);
    offsets!(facts, "fid_av", FidAv, ops);
    offsets!(facts, "fi_ops_av", AvOps, insert);
    offsets!(facts, "fi_cq_attr", CqAttr, size, flags, format, wait_obj, signaling_vector);
    offsets!(facts, "fi_cq_attr", CqAttr, wait_cond, wait_set);
    offsets!(facts, "fid_cq", FidCq, ops);
    offsets!(facts, "fi_ops_cq", CqOps, read, readerr);
    offsets!(facts, "fi_cq_msg_entry", CqMsgEntry, op_context, flags, len);
    offsets!(facts, "fi_cq_err_entry", CqErrEntry, op_context, olen, err, prov_errno, err_data);
    offsets!(facts, "fi_cq_err_entry", CqErrEntry, err_data_size);
    offsets!(facts, "fid_ep", FidEp, cm, msg, rma);
    offsets!(facts, "fi_ops_rma", RmaOps, read);
    offsets!(facts, "fi_ops_cm", CmOps, getname);
    offsets!(facts, "fi_ops_msg", MsgOps, recv, send, inject);
    facts.add("sizeof(struct fi_av_attr)", size_of::<AvAttr>() as u64);
    facts.add("sizeof(struct fi_cq_attr)", size_of::<CqAttr>() as u64);
    facts.add("sizeof(struct fi_cq_msg_entry)", size_of::<CqMsgEntry>() as u64);
    facts.add("sizeof(struct fi_context2)", size_of::<Context>() as u64);
    constants!(facts, FI_RMA, FI_READ, FI_REMOTE_READ);
    constants!(facts, FI_MSG, FI_RECV, FI_TRANSMIT, FI_CONTEXT, FI_CONTEXT2, FI_MR_LOCAL);
    constants!(facts, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY, FI_MR_ENDPOINT, FI_EP_RDM);
    constants!(
        facts,
        FI_THREAD_DOMAIN,
        FI_PROGRESS_MANUAL,
        FI_RM_ENABLED,
        FI_SOCKADDR,
        FI_SOCKADDR_IN
    );
    constants!(facts, FI_SOCKADDR_IN6, FI_ADDR_STR, FI_ADDR_UNSPEC, FI_WAIT_NONE, FI_WAIT_FD);
    constants!(facts, FI_CQ_FORMAT_MSG, FI_GETWAIT, FI_ENABLE, FI_EAGAIN, FI_ENODATA, FI_EAVAIL);
    facts.add("FI_VERSION(1, 9)", u64::from(API));
    facts
}

#[test]
fn structures_are_those_of_the_headers() {
    let header = "#include <rdma/fabric.h>\n#include <rdma/fi_cm.h>\n#include <rdma/fi_domain.h>\n\
                  #include <rdma/fi_endpoint.h>\n#include <rdma/fi_eq.h>\n#include <rdma/fi_errno.h>\n\
                  #include <rdma/fi_rma.h>\n";
    let folder = std::env::temp_dir().join(format!("hpvm-ofi-abi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let compile = |text: &str, output: &str| {
        let source = folder.join("abi.c");
        std::fs::write(&source, text).expect("a file");
        let mut cc = Command::new("cc");
        cc.arg(&source).arg("-o").arg(folder.join(output)).output().expect("cc")
    };
    let facts = facts();
    let there = compile(&format!("{header}int main(void) {{ return 0; }}\n"), "there");
    let checked = there.status.success().then(|| {
        let mut text =
            format!("{header}#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n");
        for (name, _) in &facts.0 {
            let _ = writeln!(text, "printf(\"%llu\\n\", (unsigned long long)({name}));");
        }
        text.push_str("return 0; }\n");
        let compiled = compile(&text, "abi");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(folder.join("abi")).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let _ = std::fs::remove_dir_all(&folder);
    let Some(checked) = checked else {
        hpvm_tests::skip::skipped("libfabric's headers are not installed (libfabric-dev)");
        return;
    };
    let theirs: Vec<u64> = checked.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(theirs.len(), facts.0.len());
    for ((name, ours), theirs) in facts.0.iter().zip(theirs) {
        assert_eq!(*ours, theirs, "{name}: ours and that of the header");
    }
    // Room for the entries of errors, however long they become.
    assert!(size_of::<CqErrEntry>() >= 128);
}
